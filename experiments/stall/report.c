#include "stall/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/change.h"
#include "common/csv.h"
#include "common/stats.h"
#include "common/text.h"
#include "training/log.h"

/* ---- Groups ---------------------------------------------------------------------------------- */

static double median(double *x, tt_size n) {
    stats_sort(x, n);
    return n > 0 ? stats_quantile(x, n, 0.5) : NAN;
}

/* The group of these runs (contiguous, one a seed); x is scratch for one number a seed. */
static void summarise(seed_group *g, const run *runs, int seeds, double *x) {
    g->d_k = runs->d_k;
    g->scale = runs->scale;
    g->lr = runs->lr;
    g->seeds = seeds;
    for (int e = 0; e < seeds; e++) {
        x[e] = runs[e].ratio;
        g->counts[verdict_of(x[e])]++;
    }
    stats_sort(x, seeds);
    g->ratio_median = stats_quantile(x, seeds, 0.5);
    g->ratio_q1 = stats_quantile(x, seeds, 0.25);
    g->ratio_q3 = stats_quantile(x, seeds, 0.75);
    g->verdict = verdict_of(g->ratio_median);
    for (int i = 0; i < columns_count(); i++) {
        tt_size n = 0;
        for (int e = 0; e < seeds; e++)
            if (runs[e].row_count > 0) x[n++] = runs[e].rows[0].value[i];
        g->first[i] = median(x, n);
        n = 0;
        for (int e = 0; e < seeds; e++)
            if (runs[e].row_count > 0) x[n++] = runs[e].rows[runs[e].row_count - 1].value[i];
        g->last[i] = median(x, n);
    }
}

bool report_new(report *r, const sweep *s) {
    const int seeds = s->config.seed_count;
    const size_t columns = (size_t)columns_count();
    double *x = calloc((size_t)seeds, sizeof *x);
    *r = (report){.sweep = s, .count = s->count / seeds};
    r->groups = calloc((size_t)r->count, sizeof *r->groups);
    r->medians = calloc((size_t)r->count * 2 * columns, sizeof *r->medians);
    bool good = x && r->groups && r->medians;
    for (tt_size i = 0; good && i < r->count; i++) {
        r->groups[i].first = r->medians + 2 * (size_t)i * columns;
        r->groups[i].last = r->groups[i].first + columns;
        summarise(&r->groups[i], &s->runs[i * seeds], seeds, x);
    }
    free(x);
    if (!good) report_free(r);
    return good;
}

void report_free(report *r) {
    free(r->groups);
    free(r->medians);
    *r = (report){.groups = NULL};
}

static double first_of(const seed_group *g, const char *column) {
    return g->first[column_find(column)];
}

static double last_of(const seed_group *g, const char *column) {
    return g->last[column_find(column)];
}

static const char *group_reason(const seed_group *g) {
    return verdict_reason(g->verdict, last_of(g, "entropy_mean"), last_of(g, "entropy_teacher"));
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_group_key(FILE *to, const seed_group *g) {
    (void)fprintf(to, "%" PRId64 ",%s", g->d_k, g->scale->name);
    csv_number(to, g->lr);
}

static const char *run_reason(const run *c, verdict v) {
    if (c->row_count == 0) return "";
    const double *last = c->rows[c->row_count - 1].value;
    return verdict_reason(v, last[column_find("entropy_mean")],
                          last[column_find("entropy_teacher")]);
}

void report_runs_csv(FILE *to, const report *r) {
    (void)fputs("seed,d_k,scale,lr,steps,ratio,verdict,reason,steps_taken\n", to);
    for (tt_size i = 0; i < r->sweep->count; i++) {
        const run *c = &r->sweep->runs[i];
        const verdict v = verdict_of(c->ratio);
        log_key(to, c);
        (void)fprintf(to, ",%td", r->sweep->config.steps);
        csv_number(to, c->ratio);
        (void)fprintf(to, ",%s,%s,%td\n", verdict_name((int)v), run_reason(c, v), c->steps);
    }
}

void report_summary_csv(FILE *to, const report *r) {
    static const char *const AT_START[] = {"grad_wq",        "grad_q",          "grad_logits",
                                           "row_grad_mean",  "row_grad_median", "jacobian_mean",
                                           "jacobian_median"};
    const size_t start_count = sizeof AT_START / sizeof *AT_START;
    (void)fputs("d_k,scale,lr,seeds,ratio_median,ratio_q1,ratio_q3", to);
    for (int v = 0; v < VERDICTS; v++) (void)fprintf(to, ",%s", verdict_name(v));
    (void)fputs(",verdict", to);
    for (size_t i = 0; i < start_count; i++) (void)fprintf(to, ",%s", AT_START[i]);
    (void)fputs(",reason\n", to);
    for (tt_size i = 0; i < r->count; i++) {
        const seed_group *g = &r->groups[i];
        print_group_key(to, g);
        (void)fprintf(to, ",%d", g->seeds);
        csv_number(to, g->ratio_median);
        csv_number(to, g->ratio_q1);
        csv_number(to, g->ratio_q3);
        for (int v = 0; v < VERDICTS; v++) (void)fprintf(to, ",%d", g->counts[v]);
        (void)fprintf(to, ",%s", verdict_name((int)g->verdict));
        for (size_t m = 0; m < start_count; m++) csv_number(to, first_of(g, AT_START[m]));
        (void)fprintf(to, ",%s\n", group_reason(g));
    }
}

/* The bands: loss / loss_uniform, and measured columns. */
static const char RATIO[] = "ratio";
static const char *const BANDS[] = {RATIO,           "grad_wq",        "grad_wk",
                                    "grad_q",        "grad_k",         "grad_logits",
                                    "row_grad_mean", "row_grad_p10",   "row_grad_median",
                                    "row_grad_p90",  "ratio_rescaled", "cos_m"};

enum { BAND_COUNT = sizeof BANDS / sizeof *BANDS };

static double band_value(const char *band, const log_row *row) {
    if (band != RATIO) return row->value[column_find(band)];
    return row->value[column_find("loss")] / row->value[column_find("loss_uniform")];
}

/* The row of that step: row r, or an earlier one where a row was not finite and left out; or NULL.
 */
static const log_row *row_at(const run *c, tt_size r, int64_t step) {
    for (tt_size i = r < c->row_count ? r : c->row_count - 1; i >= 0; i--)
        if (c->rows[i].step == step) return &c->rows[i];
    return NULL;
}

/* One step, of every seed that has it. */
static void print_bands_row(FILE *to, const report *rep, const seed_group *g, const run *runs,
                            tt_size r, int64_t step, double *x) {
    int n = 0;
    for (int e = 0; e < g->seeds; e++) n += row_at(&runs[e], r, step) != NULL;
    print_group_key(to, g);
    (void)fprintf(to, ",%" PRId64 ",%d", step, n);
    for (int b = 0; b < BAND_COUNT; b++) {
        tt_size k = 0;
        for (int e = 0; e < g->seeds; e++) {
            const log_row *row = row_at(&runs[e], r, step);
            if (row) x[k++] = band_value(BANDS[b], row);
        }
        stats_sort(x, k);
        csv_number(to, stats_quantile(x, k, 0.5));
        csv_number(to, stats_quantile(x, k, 0.25));
        csv_number(to, stats_quantile(x, k, 0.75));
    }
    (void)fprintf(to, ",%td\n", rep->sweep->config.steps);
}

bool report_bands_csv(FILE *to, const report *r) {
    const int seeds = r->sweep->config.seed_count;
    double *x = calloc((size_t)seeds, sizeof *x);
    if (!x) return false;
    (void)fputs("d_k,scale,lr,step,seeds", to);
    for (int b = 0; b < BAND_COUNT; b++)
        (void)fprintf(to, ",%s_median,%s_q1,%s_q3", BANDS[b], BANDS[b], BANDS[b]);
    (void)fputs(",steps\n", to);
    for (tt_size i = 0; i < r->count; i++) {
        const run *runs = &r->sweep->runs[i * seeds];
        const run *longest = runs;
        for (int e = 1; e < seeds; e++)
            if (runs[e].row_count > longest->row_count) longest = &runs[e];
        for (tt_size row = 0; row < longest->row_count; row++)
            print_bands_row(to, r, &r->groups[i], runs, row, longest->rows[row].step, x);
    }
    free(x);
    return true;
}

/* ---- For people ------------------------------------------------------------------------------ */

/* "stalled 4, slow 1 (sharp)": the group's verdict first, then what other seeds did. */
static void print_verdict_cell(FILE *to, const seed_group *g) {
    const char *reason = group_reason(g);
    (void)fprintf(to, "%s %d", verdict_name((int)g->verdict), g->counts[g->verdict]);
    for (int v = 0; v < VERDICTS; v++)
        if (v != (int)g->verdict && g->counts[v] > 0)
            (void)fprintf(to, ", %s %d", verdict_name(v), g->counts[v]);
    if (reason[0]) (void)fprintf(to, " (%s)", reason + strlen("too "));
    (void)fputc('\n', to);
}

/* The learning rate has a column only where there are several. */
static void print_table(FILE *to, const void *context) {
    const report *r = context;
    const bool rates = r->sweep->config.lr_count > 1 || r->sweep->config.lr_in_logits;
    (void)fprintf(to, "%5s %-6s ", "d_k", "scale");
    if (rates) (void)fprintf(to, "%5s ", "lr");
    (void)fprintf(to, "%8s %16s %7s %6s  %s\n", "ratio", "quartiles", "rowgrad", "|dWq|",
                  "verdict");
    for (tt_size i = 0; i < r->count; i++) {
        const seed_group *g = &r->groups[i];
        char quartiles[48];
        (void)snprintf(quartiles, sizeof quartiles, "%.2g..%.2g", g->ratio_q1, g->ratio_q3);
        (void)fprintf(to, "%5" PRId64 " %-6s ", g->d_k, g->scale->name);
        if (rates) (void)fprintf(to, "%5.3g ", g->lr);
        (void)fprintf(to, "%8.3g %16s %7.2g %6.2g  ", g->ratio_median, quartiles,
                      first_of(g, "row_grad_median"), first_of(g, "grad_wq"));
        print_verdict_cell(to, g);
    }
}

void report_table(FILE *to, const report *r) {
    text_flow(to,
              "ratio: loss / loss of not attending at the end, median over seeds; rowgrad: through "
              "the softmax, median row, and |dWq| = |dL/dWq|: both at step 0, median over seeds; "
              "verdict: seeds\n\n",
              0);
    text_flow_from(to, print_table, r, 8);
    (void)fputc('\n', to);
}

static const seed_group *group_at(const report *r, int d_k, int scale, int lr) {
    const sweep_config *c = &r->sweep->config;
    return &r->groups[((tt_size)d_k * c->scale_count + scale) * c->lr_count + lr];
}

/* "; scale none: d_k 8, 16 trained, d_k 512 stalled" for one scale and one given lr. */
static void print_verdicts(FILE *to, const report *r, int scale, int lr) {
    const sweep_config *c = &r->sweep->config;
    (void)fprintf(to, " scale %s:", c->scale[scale]->name);
    const char *between = "";
    for (int v = 0; v < VERDICTS; v++) {
        bool first = true;
        for (int d = 0; d < c->d_k_count; d++) {
            const seed_group *g = group_at(r, d, scale, lr);
            if (g->verdict != (verdict)v) continue;
            if (first) (void)fprintf(to, "%s d_k", between);
            (void)fprintf(to, "%s %" PRId64, first ? "" : ",", g->d_k);
            first = false;
        }
        if (first) continue;
        (void)fprintf(to, " %s", verdict_name(v));
        between = ";";
    }
}

static bool any_stall(const report *r, int lr) {
    const sweep_config *c = &r->sweep->config;
    for (int d = 0; d < c->d_k_count; d++)
        for (int k = 0; k < c->scale_count; k++)
            if (group_at(r, d, k, lr)->verdict == STALLED) return true;
    return false;
}

static void print_verdict_sentence(FILE *to, const report *r, int lr) {
    const sweep_config *c = &r->sweep->config;
    (void)fprintf(to, "%s within %td steps at %s %g:", any_stall(r, lr) ? "Stall" : "No stall",
                  c->steps, c->lr_in_logits ? "kappa (step in logits)" : "lr", c->lr[lr]);
    for (int k = 0; k < c->scale_count; k++) {
        if (k > 0) (void)fputc('.', to);
        print_verdicts(to, r, k, lr);
    }
    if (c->seed_count > 1)
        (void)fprintf(to, " (by the median of %d seeds).\n", c->seed_count);
    else
        (void)fprintf(to, " (seed %" PRId64 " alone).\n", c->seed[0]);
}

static void narrowest_and_widest(const sweep_config *c, int *narrow, int *wide) {
    *narrow = *wide = 0;
    for (int d = 1; d < c->d_k_count; d++) {
        if (c->d_k[d] < c->d_k[*narrow]) *narrow = d;
        if (c->d_k[d] > c->d_k[*wide]) *wide = d;
    }
}

/* What becomes of the two ends of the chain from narrow to wide, at step 0 (no lr has acted yet).
 */
static void print_gradient_sentence(FILE *to, const report *r) {
    const sweep_config *c = &r->sweep->config;
    int narrow, wide;
    narrowest_and_widest(c, &narrow, &wide);
    if (narrow == wide) {
        (void)fprintf(to, "At step 0 and d_k %" PRId64 ":", c->d_k[wide]);
        for (int k = 0; k < c->scale_count; k++) {
            const seed_group *g = group_at(r, wide, k, 0);
            (void)fprintf(to,
                          "%s scale %s: the typical row's gradient through the softmax is %.2g, "
                          "|dL/dWq| %.2g",
                          k ? ";" : "", g->scale->name, first_of(g, "row_grad_median"),
                          first_of(g, "grad_wq"));
        }
    } else {
        (void)fprintf(to, "From d_k %" PRId64 " to %" PRId64 " at step 0:", c->d_k[narrow],
                      c->d_k[wide]);
        for (int k = 0; k < c->scale_count; k++) {
            const seed_group *a = group_at(r, narrow, k, 0), *b = group_at(r, wide, k, 0);
            (void)fprintf(to, "%s scale %s: the typical row's gradient through the softmax ",
                          k ? ";" : "", a->scale->name);
            change_print(to, first_of(a, "row_grad_median"), first_of(b, "row_grad_median"));
            (void)fputs(", |dL/dWq| ", to);
            change_print(to, first_of(a, "grad_wq"), first_of(b, "grad_wq"));
        }
    }
    (void)fputs(c->seed_count > 1 ? " (row median, then median over seeds).\n" : " (row median).\n",
                to);
}

/* The widest group of a scale that did not train, at the first lr where there is one. */
static void print_failure_sentence(FILE *to, const report *r, int scale) {
    const sweep_config *c = &r->sweep->config;
    const seed_group *worst = NULL;
    for (int l = 0; l < c->lr_count && !worst; l++)
        for (int d = 0; d < c->d_k_count; d++) {
            const seed_group *g = group_at(r, d, scale, l);
            if (group_reason(g)[0] == '\0') continue;
            if (!worst || g->d_k > worst->d_k) worst = g;
        }
    if (!worst) return;
    (void)fprintf(
        to,
        "At d_k %" PRId64 ", scale %s, lr %.3g the %s student is %s: its rows' entropy ends "
        "at %.2g nats, the teacher's at %.2g; one scalar on its logits would bring the "
        "ratio from %.3g to %.2g (its score matrix has cosine %.2g with the teacher's).\n",
        worst->d_k, worst->scale->name, worst->lr, verdict_name((int)worst->verdict),
        group_reason(worst), last_of(worst, "entropy_mean"), last_of(worst, "entropy_teacher"),
        worst->ratio_median, last_of(worst, "ratio_rescaled"), last_of(worst, "cos_m"));
}

static void print_findings(FILE *to, const void *context) {
    const report *r = context;
    const sweep_config *c = &r->sweep->config;
    for (int l = 0; l < c->lr_count; l++) print_verdict_sentence(to, r, l);
    print_gradient_sentence(to, r);
    for (int k = 0; k < c->scale_count; k++) print_failure_sentence(to, r, k);
}

void report_findings(FILE *to, const report *r) {
    text_flow_from(to, print_findings, r, 0);
}
