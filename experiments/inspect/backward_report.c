#include "inspect/backward_report.h"

#include <string.h>

#include "common/csv.h"
#include "common/text.h"
#include "heads/precision_table.h"

void backward_report_signal(FILE *to, const layer_backward *layers, int count) {
    (void)fputs("layer,rows", to);
    for (int i = 0; i < SIGNAL_STATS; i++) (void)fprintf(to, ",%s", signal_stat_name(i));
    (void)fputc('\n', to);
    for (int n = 0; n < count; n++) {
        (void)fprintf(to, "%s,%td", layers[n].name, layers[n].rows);
        for (int i = 0; i < SIGNAL_STATS; i++) csv_known(to, layers[n].signal[i]);
        (void)fputc('\n', to);
    }
}

/* Empty where no row sees two keys. */
static void print_errors(FILE *to, const layer_backward *l, int format, int pipeline) {
    for (int i = 0; i < ROUNDING_STATS; i++)
        if (l->rows > 0)
            csv_number(to, l->error[format][pipeline][i]);
        else
            (void)fputc(',', to);
}

void backward_report_errors(FILE *to, const layer_backward *layers, int count) {
    (void)fputs("layer,rows,format,pipeline", to);
    for (int i = 0; i < ROUNDING_STATS; i++) (void)fprintf(to, ",%s", rounding_stat_name(i));
    (void)fputc('\n', to);
    for (int n = 0; n < count; n++)
        for (int f = 0; f < BACKWARD_FORMATS; f++)
            for (int p = 0; p < PRECISION_PIPELINES; p++) {
                (void)fprintf(to, "%s,%td,%s,%s", layers[n].name, layers[n].rows, format_name(f),
                              precision_pipeline_name(p));
                print_errors(to, &layers[n], f, p);
                (void)fputc('\n', to);
            }
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_signal(FILE *to, const layer_backward *l) {
    const double *x = l->signal;
    if (l->rows > 0)
        (void)fprintf(to,
                      "Gradients of layer %s: the norm of a row of dZ is %.2g at the median (10%%: "
                      "%.2g, 90%%: %.2g); %.2g%% of the %td rows carry 90%% of the sum of "
                      "|dZ|^2. ",
                      l->name, x[SIGNAL_DZ_MEDIAN], x[SIGNAL_DZ_P10], x[SIGNAL_DZ_P90],
                      100 * x[SIGNAL_CARRIERS], l->rows);
    else
        (void)fprintf(to, "Gradients of layer %s: no query sees two keys. ", l->name);
    (void)fprintf(to, "|dQ| is %.2g (Frobenius), %.2g an entry (rms), |dK| %.2g and %.2g.\n",
                  x[SIGNAL_DQ_NORM], x[SIGNAL_DQ_RMS], x[SIGNAL_DK_NORM], x[SIGNAL_DK_RMS]);
}

static void print_table(FILE *to, const layer_backward *l) {
    double error[PRECISION_PIPELINES][ROUNDING_STATS];
    bool infinite = false;
    precision_table_head(to, false);
    for (int f = 0; f < BACKWARD_FORMATS; f++) {
        memcpy(error, l->error[f], sizeof error);
        infinite = precision_table_rows(to, NULL, format_name(f), error) || infinite;
    }
    if (infinite) precision_table_infinite(to);
}

static void print_layer(FILE *to, const void *context) {
    const layer_backward *l = context;
    if (l->given) print_signal(to, l);
    if (!l->rounded || l->rows == 0) return;
    (void)fprintf(to,
                  "\nRelative error of dZ, the gradient of the logits, in layer %s as a format "
                  "computes it from these logits (dO %s), of the median row, the 90%% row and all "
                  "%td rows that see two keys together:\n",
                  l->name, l->given ? "as given" : "standard normal", l->rows);
    print_table(to, l);
}

void backward_report_layer(FILE *to, const layer_backward *l) {
    text_flow_from(to, print_layer, l, 0);
}
