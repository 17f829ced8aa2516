#include "stall/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/csv.h"
#include "common/stats.h"
#include "training/log.h"

/* ---- Groups ---------------------------------------------------------------------------------- */

/* The run of the lower median ratio, the first of equals. */
static const run *lower_median(const run *const *runs, int seeds) {
    for (int i = 0; i < seeds; i++) {
        int before = 0;
        for (int j = 0; j < seeds; j++)
            before +=
                runs[j]->ratio < runs[i]->ratio || (j < i && runs[j]->ratio == runs[i]->ratio);
        if (before == (seeds - 1) / 2) return runs[i];
    }
    return runs[0];
}

/* The group of its runs; x is scratch for one number a seed. */
static void summarise(seed_group *g, const sweep_config *c, double *x) {
    const run *const *runs = g->runs;
    const int seeds = g->seeds;
    g->run = lower_median(runs, seeds);
    g->verdict = verdict_of_run(c, g->run);
    g->state = state_of_run(c, g->run);
    for (int e = 0; e < seeds; e++) {
        x[e] = runs[e]->ratio;
        g->counts[verdict_of_run(c, runs[e])]++;
    }
    stats_sort(x, seeds);
    g->ratio_median = stats_quantile(x, seeds, 0.5);
    g->ratio_q1 = stats_quantile(x, seeds, 0.25);
    g->ratio_q3 = stats_quantile(x, seeds, 0.75);
    for (int i = 0; i < columns_count(); i++) {
        tt_size n = 0;
        for (int e = 0; e < seeds; e++)
            if (runs[e]->row_count > 0) x[n++] = runs[e]->rows[0].value[i];
        g->first[i] = stats_median(x, n);
    }
}

bool report_new(report *r, const sweep *s, const char *given) {
    const int seeds = s->config.seed_count;
    const size_t columns = (size_t)columns_count();
    double *x = calloc((size_t)seeds, sizeof *x);
    *r = (report){.sweep = s, .options = given, .count = s->count / seeds};
    r->groups = calloc((size_t)r->count, sizeof *r->groups);
    r->medians = calloc((size_t)r->count * columns, sizeof *r->medians);
    r->runs = calloc((size_t)s->count, sizeof *r->runs);
    bool good = x && r->groups && r->medians && r->runs;
    for (tt_size i = 0; good && i < r->count; i++) {
        seed_group *g = &r->groups[i];
        g->first = r->medians + (size_t)i * columns;
        g->runs = r->runs + i * seeds;
        for (const run *c = &s->runs[i * seeds]; c < &s->runs[(i + 1) * seeds]; c++)
            if (c->finished) g->runs[g->seeds++] = c;
        r->missing += seeds - g->seeds;
        if (g->seeds > 0) summarise(g, &s->config, x);
    }
    free(x);
    if (!good) report_free(r);
    return good;
}

void report_free(report *r) {
    free(r->groups);
    free(r->medians);
    free(r->runs);
    *r = (report){.groups = NULL};
}

double group_first(const seed_group *g, const char *column) {
    return g->first[column_find(column)];
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_group_key(FILE *to, const seed_group *g) {
    (void)fprintf(to, "%" PRId64 ",%s,%s", g->run->d_k, g->run->scale->name,
                  g->run->optimizer->name);
    csv_number(to, g->run->lr);
}

void report_runs_csv(FILE *to, const report *r) {
    const sweep_config *config = &r->sweep->config;
    (void)fputs(
        "seed,d_k,scale,optimizer,lr,steps,ratio,verdict,state,steps_taken,ratio_middle,kappa,"
        "travelled,options\n",
        to);
    for (tt_size i = 0; i < r->sweep->count; i++) {
        const run *c = &r->sweep->runs[i];
        if (!c->finished) continue;
        log_key(to, c);
        (void)fprintf(to, ",%td", config->steps);
        csv_number(to, c->ratio);
        (void)fprintf(to, ",%s,%s,%td", verdict_name((int)verdict_of_run(config, c)),
                      state_name(state_of_run(config, c)), c->steps);
        csv_number(to, c->middle);
        csv_number(to, c->kappa);
        csv_number(to, verdict_travelled(config, c));
        csv_text(to, r->options);
        (void)fputc('\n', to);
    }
}

void report_summary_csv(FILE *to, const report *r) {
    static const char *const AT_START[] = {
        "grad_wq",       "grad_wq_rms",     "grad_q",        "grad_logits",     "logit_step",
        "row_grad_mean", "row_grad_median", "jacobian_mean", "jacobian_median", "logit_std"};
    const size_t start_count = sizeof AT_START / sizeof *AT_START;
    (void)fputs("d_k,scale,optimizer,lr,seeds,ratio_median,ratio_q1,ratio_q3", to);
    for (int v = 0; v < VERDICTS; v++) (void)fprintf(to, ",%s", verdict_name(v));
    (void)fputs(",verdict", to);
    for (size_t i = 0; i < start_count; i++) (void)fprintf(to, ",%s", AT_START[i]);
    (void)fputs(",state,kappa,options\n", to);
    for (tt_size i = 0; i < r->count; i++) {
        const seed_group *g = &r->groups[i];
        if (g->seeds == 0) continue;
        print_group_key(to, g);
        (void)fprintf(to, ",%d", g->seeds);
        csv_number(to, g->ratio_median);
        csv_number(to, g->ratio_q1);
        csv_number(to, g->ratio_q3);
        for (int v = 0; v < VERDICTS; v++) (void)fprintf(to, ",%d", g->counts[v]);
        (void)fprintf(to, ",%s", verdict_name((int)g->verdict));
        for (size_t m = 0; m < start_count; m++) csv_number(to, group_first(g, AT_START[m]));
        (void)fprintf(to, ",%s", state_name(g->state));
        csv_number(to, g->run->kappa);
        csv_text(to, r->options);
        (void)fputc('\n', to);
    }
}

/* The bands: loss / loss_uniform, and measured columns. */
static const char RATIO[] = "ratio";
static const char *const BANDS[] = {
    RATIO,          "grad_wq",        "grad_wk",      "grad_q",
    "grad_k",       "grad_logits",    "grad_wq_rms",  "grad_wk_rms",
    "logit_step",   "row_grad_mean",  "row_grad_p10", "row_grad_median",
    "row_grad_p90", "ratio_rescaled", "cos_m",        "entropy_mean"};

enum { BAND_COUNT = sizeof BANDS / sizeof *BANDS };

static double band_value(const char *band, const log_row *row) {
    if (band != RATIO) return row->value[column_find(band)];
    return row->value[column_find("loss")] / row->value[column_find("loss_uniform")];
}

/* The row of that step: row r, or an earlier one if a row was not finite and left out; or NULL. */
static const log_row *row_at(const run *c, tt_size r, int64_t step) {
    for (tt_size i = r < c->row_count ? r : c->row_count - 1; i >= 0; i--)
        if (c->rows[i].step == step) return &c->rows[i];
    return NULL;
}

/* One step, of every seed that has it. */
static void print_bands_row(FILE *to, const report *rep, const seed_group *g, tt_size r,
                            int64_t step, double *x) {
    int n = 0;
    for (int e = 0; e < g->seeds; e++) n += row_at(g->runs[e], r, step) != NULL;
    print_group_key(to, g);
    (void)fprintf(to, ",%" PRId64 ",%d", step, n);
    for (int b = 0; b < BAND_COUNT; b++) {
        tt_size k = 0;
        for (int e = 0; e < g->seeds; e++) {
            const log_row *row = row_at(g->runs[e], r, step);
            if (row) x[k++] = band_value(BANDS[b], row);
        }
        stats_sort(x, k);
        csv_number(to, stats_quantile(x, k, 0.5));
        csv_number(to, stats_quantile(x, k, 0.25));
        csv_number(to, stats_quantile(x, k, 0.75));
    }
    (void)fprintf(to, ",%td", rep->sweep->config.steps);
    csv_text(to, rep->options);
    (void)fputc('\n', to);
}

bool report_bands_csv(FILE *to, const report *r) {
    const int seeds = r->sweep->config.seed_count;
    double *x = calloc((size_t)seeds, sizeof *x);
    if (!x) return false;
    (void)fputs("d_k,scale,optimizer,lr,step,seeds", to);
    for (int b = 0; b < BAND_COUNT; b++)
        (void)fprintf(to, ",%s_median,%s_q1,%s_q3", BANDS[b], BANDS[b], BANDS[b]);
    (void)fputs(",steps,options\n", to);
    for (tt_size i = 0; i < r->count; i++) {
        const seed_group *g = &r->groups[i];
        const run *longest = g->runs[0];
        for (int e = 1; e < g->seeds; e++)
            if (g->runs[e]->row_count > longest->row_count) longest = g->runs[e];
        for (tt_size row = 0; longest && row < longest->row_count; row++)
            print_bands_row(to, r, g, row, longest->rows[row].step, x);
    }
    free(x);
    return true;
}
