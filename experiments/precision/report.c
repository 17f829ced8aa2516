#include "precision/report.h"

#include <inttypes.h>
#include <math.h>

#include "common/csv.h"
#include "common/options.h"
#include "common/stats.h"
#include "common/text.h"
#include "heads/precision_table.h"

void report_csv(FILE *to, const rounding *r) {
    (void)fputs("seed,d_k,scale,format,pipeline", to);
    for (int i = 0; i < ROUNDING_STATS; i++) (void)fprintf(to, ",%s", rounding_stat_name(i));
    (void)fputc('\n', to);
    for (tt_size i = 0; i < r->count; i++)
        for (int p = 0; p < PRECISION_PIPELINES; p++) {
            const rounding_cell *c = &r->cells[i];
            (void)fprintf(to, "%" PRId64 ",%" PRId64 ",%s,%s,%s", c->seed, c->d_k, c->scale->name,
                          c->format->name, precision_pipeline_name(p));
            for (int s = 0; s < ROUNDING_STATS; s++) csv_number(to, c->of[p][s]);
            (void)fputc('\n', to);
        }
}

/* ---- Table ----------------------------------------------------------------------------------- */

static int widest(const rounding *r) {
    int at = 0;
    for (int d = 1; d < r->config.d_k_count; d++)
        if (r->config.d_k[d] > r->config.d_k[at]) at = d;
    return at;
}

/* Of the widest d_k, over seeds. */
static double median_of(const rounding *r, int scale, int format, int pipeline, int stat) {
    double of_seed[LIST_MOST];
    for (int s = 0; s < r->config.seed_count; s++)
        of_seed[s] = rounding_at(r, s, widest(r), scale, format)->of[pipeline][stat];
    return stats_median(of_seed, r->config.seed_count);
}

static void print_table(FILE *to, const void *context) {
    const rounding *r = context;
    double of[PRECISION_PIPELINES][ROUNDING_STATS];
    bool infinite = false;
    precision_table_head(to, true);
    for (int k = 0; k < r->config.scale_count; k++)
        for (int f = 0; f < r->config.format_count; f++) {
            for (int p = 0; p < PRECISION_PIPELINES; p++)
                for (int s = 0; s < ROUNDING_STATS; s++) of[p][s] = median_of(r, k, f, p, s);
            infinite =
                precision_table_rows(to, r->config.scale[k]->name, r->config.format[f]->name, of) ||
                infinite;
        }
    if (infinite) precision_table_infinite(to);
}

void report_table(FILE *to, const rounding *r) {
    text_line(to, 0,
              "d_k %" PRId64
              ": relative error of dZ, the gradient of the logits, as a format computes it, of the "
              "median row, of the 90%% row and of all rows together, and the share of rows that "
              "become exactly 0; medians over %d seed%s",
              r->config.d_k[widest(r)], r->config.seed_count, r->config.seed_count == 1 ? "" : "s");
    (void)fputc('\n', to);
    text_flow_from(to, print_table, r, 8);
    if (r->config.d_k_count > 1)
        text_line(to, 0, "\nThis is the largest of %d d_k; the CSV has them all.",
                  r->config.d_k_count);
    (void)fputc('\n', to);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

static void print_percent(FILE *to, double share) {
    if (isinf(share))
        (void)fputs("an infinite share", to);
    else if (share >= 100)
        (void)fprintf(to, "%.2g times its norm", share);
    else
        (void)fprintf(to, share < 0.0995 ? "%.2g%%" : "%.0f%%", 100 * share);
}

/* "68% (eager) and 71% (flash), with the shift 0.25% and 0.15%" */
static void print_four(FILE *to, const rounding *r, int scale, int format, int stat) {
    print_percent(to, median_of(r, scale, format, PRECISION_EAGER, stat));
    (void)fputs(" (eager) and ", to);
    print_percent(to, median_of(r, scale, format, PRECISION_FLASH, stat));
    (void)fputs(" (flash), with the shift ", to);
    print_percent(to, median_of(r, scale, format, PRECISION_EAGER_SHIFTED, stat));
    (void)fputs(" and ", to);
    print_percent(to, median_of(r, scale, format, PRECISION_FLASH_SHIFTED, stat));
}

static int hardest_scale(const rounding *r, int format) {
    int at = 0;
    for (int k = 1; k < r->config.scale_count; k++)
        if (median_of(r, k, format, PRECISION_EAGER, ROUNDING_MEDIAN_ROW) >
            median_of(r, at, format, PRECISION_EAGER, ROUNDING_MEDIAN_ROW))
            at = k;
    return at;
}

static void print_findings(FILE *to, const void *context) {
    const rounding *r = context;
    for (int f = 0; f < r->config.format_count; f++) {
        const int k = hardest_scale(r, f);
        (void)fprintf(to, "%s, d_k %" PRId64 ", scale %s: the median row's gradient is wrong by ",
                      r->config.format[f]->name, r->config.d_k[widest(r)],
                      r->config.scale[k]->name);
        print_four(to, r, k, f, ROUNDING_MEDIAN_ROW);
        (void)fputs("; the whole gradient, in which large rows count most, by ", to);
        print_four(to, r, k, f, ROUNDING_WHOLE);
        (void)fputs(".\n", to);
    }
}

void report_findings(FILE *to, const rounding *r) {
    text_flow_from(to, print_findings, r, 0);
}
