/* report.c: see stall_report.h. */
#include "stall/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/output.h"
#include "common/stats.h"

/* ---- Groups ---------------------------------------------------------------------------------- */

static double median(double *x, tt_size n) {
    stats_sort(x, n);
    return n > 0 ? stats_quantile(x, n, 0.5) : NAN;
}

/* The group of these indices from its cells (contiguous, one a seed); x is scratch for one number a
 * seed. */
static void summarise(group *g, const cell *cells, int seeds, double *x) {
    *g = (group){.d_k = cells->d_k, .scale = cells->scale, .lr = cells->lr, .seeds = seeds};
    for (int e = 0; e < seeds; e++) {
        x[e] = cells[e].ratio;
        g->counts[verdict_of(x[e])]++;
    }
    stats_sort(x, seeds);
    g->ratio_median = stats_quantile(x, seeds, 0.5);
    g->ratio_q1 = stats_quantile(x, seeds, 0.25);
    g->ratio_q3 = stats_quantile(x, seeds, 0.75);
    g->verdict = verdict_of(g->ratio_median);
    for (int m = 0; m < MEASURES; m++) {
        tt_size n = 0;
        for (int e = 0; e < seeds; e++)
            if (cells[e].row_count > 0) x[n++] = cells[e].rows[0].value[m];
        g->first[m] = median(x, n);
        n = 0;
        for (int e = 0; e < seeds; e++)
            if (cells[e].row_count > 0) x[n++] = cells[e].rows[cells[e].row_count - 1].value[m];
        g->last[m] = median(x, n);
    }
}

bool report_new(report *r, const sweep *s) {
    const int seeds = s->config.seed_count;
    double *x = calloc((size_t)seeds, sizeof *x);
    *r = (report){.sweep = s, .count = s->count / seeds};
    r->groups = calloc((size_t)r->count, sizeof *r->groups);
    bool good = x && r->groups;
    for (tt_size i = 0; good && i < r->count; i++)
        summarise(&r->groups[i], &s->cells[i * seeds], seeds, x);
    free(x);
    if (!good) report_free(r);
    return good;
}

void report_free(report *r) {
    free(r->groups);
    r->groups = NULL;
}

const char *verdict_reason(verdict v, const double *row) {
    if (v == TRAINED || v == DIVERGED || isnan(row[M_ENTROPY_MEAN])) return "";
    return row[M_ENTROPY_MEAN] < row[M_ENTROPY_TEACHER] ? "too sharp" : "too flat";
}

static const char *group_reason(const group *g) {
    return verdict_reason(g->verdict, g->last);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_number(FILE *to, double x) {
    char number[NUMBER_BYTES];
    (void)fprintf(to, ",%s", output_number(number, x));
}

static void print_group_key(FILE *to, const group *g) {
    (void)fprintf(to, "%" PRId64 ",%s", g->d_k, g->scale->name);
    print_number(to, g->lr);
}

void report_runs_csv(FILE *to, const report *r) {
    (void)fputs("seed,d_k,scale,lr,steps,ratio,verdict,reason,steps_taken\n", to);
    for (tt_size i = 0; i < r->sweep->count; i++) {
        const cell *c = &r->sweep->cells[i];
        verdict v = verdict_of(c->ratio);
        (void)fprintf(to, "%" PRId64 ",%" PRId64 ",%s", c->seed, c->d_k, c->scale->name);
        print_number(to, c->lr);
        (void)fprintf(to, ",%td", r->sweep->config.steps);
        print_number(to, c->ratio);
        (void)fprintf(to, ",%s,%s,%td\n", VERDICT_NAMES[v],
                      c->row_count > 0 ? verdict_reason(v, c->rows[c->row_count - 1].value) : "",
                      c->steps);
    }
}

void report_summary_csv(FILE *to, const report *r) {
    static const measure AT_START[] = {M_GRAD_WQ,        M_GRAD_Q,          M_GRAD_LOGITS,
                                       M_ROW_GRAD_MEAN,  M_ROW_GRAD_MEDIAN, M_JACOBIAN_MEAN,
                                       M_JACOBIAN_MEDIAN};
    const size_t start_count = sizeof AT_START / sizeof *AT_START;
    (void)fputs("d_k,scale,lr,seeds,ratio_median,ratio_q1,ratio_q3,trained,slow,stalled,diverged,"
                "verdict",
                to);
    for (size_t i = 0; i < start_count; i++) (void)fprintf(to, ",%s", MEASURE_NAMES[AT_START[i]]);
    (void)fputs(",reason\n", to);
    for (tt_size i = 0; i < r->count; i++) {
        const group *g = &r->groups[i];
        print_group_key(to, g);
        (void)fprintf(to, ",%d", g->seeds);
        print_number(to, g->ratio_median);
        print_number(to, g->ratio_q1);
        print_number(to, g->ratio_q3);
        for (int v = 0; v < VERDICTS; v++) (void)fprintf(to, ",%d", g->counts[v]);
        (void)fprintf(to, ",%s", VERDICT_NAMES[g->verdict]);
        for (size_t m = 0; m < start_count; m++) print_number(to, g->first[AT_START[m]]);
        (void)fprintf(to, ",%s\n", group_reason(g));
    }
}

/* A column of the bands: a measure, or the ratio of two. */
typedef struct band {
    const char *name;
    measure of;
} band;

static const band BANDS[] = {
    {"ratio", MEASURES}, /* loss / loss_uniform */
    {"grad_wq", M_GRAD_WQ},
    {"grad_wk", M_GRAD_WK},
    {"grad_q", M_GRAD_Q},
    {"grad_k", M_GRAD_K},
    {"grad_logits", M_GRAD_LOGITS},
    {"row_grad_mean", M_ROW_GRAD_MEAN},
    {"row_grad_p10", M_ROW_GRAD_P10},
    {"row_grad_median", M_ROW_GRAD_MEDIAN},
    {"row_grad_p90", M_ROW_GRAD_P90},
    {"ratio_rescaled", M_RATIO_RESCALED},
    {"cos_m", M_COS_M},
};

enum { BAND_COUNT = sizeof BANDS / sizeof *BANDS };

static double band_value(const band *b, const log_row *row) {
    if (b->of == MEASURES) return row->value[M_LOSS] / row->value[M_LOSS_UNIFORM];
    return row->value[b->of];
}

/* The row of that step: row r, or an earlier one where a row was not finite and left out; or NULL.
 */
static const log_row *row_at(const cell *c, tt_size r, int64_t step) {
    for (tt_size i = r < c->row_count ? r : c->row_count - 1; i >= 0; i--)
        if (c->rows[i].step == step) return &c->rows[i];
    return NULL;
}

/* One step, of every seed that has it. */
static void print_bands_row(FILE *to, const report *rep, const group *g, const cell *cells,
                            tt_size r, int64_t step, double *x) {
    int n = 0;
    for (int e = 0; e < g->seeds; e++) n += row_at(&cells[e], r, step) != NULL;
    print_group_key(to, g);
    (void)fprintf(to, ",%" PRId64 ",%d", step, n);
    for (int b = 0; b < BAND_COUNT; b++) {
        tt_size k = 0;
        for (int e = 0; e < g->seeds; e++) {
            const log_row *row = row_at(&cells[e], r, step);
            if (row) x[k++] = band_value(&BANDS[b], row);
        }
        stats_sort(x, k);
        print_number(to, stats_quantile(x, k, 0.5));
        print_number(to, stats_quantile(x, k, 0.25));
        print_number(to, stats_quantile(x, k, 0.75));
    }
    (void)fprintf(to, ",%td\n", rep->sweep->config.steps);
}

bool report_bands_csv(FILE *to, const report *r) {
    const int seeds = r->sweep->config.seed_count;
    double *x = calloc((size_t)seeds, sizeof *x);
    if (!x) return false;
    (void)fputs("d_k,scale,lr,step,seeds", to);
    for (int b = 0; b < BAND_COUNT; b++)
        (void)fprintf(to, ",%s_median,%s_q1,%s_q3", BANDS[b].name, BANDS[b].name, BANDS[b].name);
    (void)fputs(",steps\n", to);
    for (tt_size i = 0; i < r->count; i++) {
        const cell *cells = &r->sweep->cells[i * seeds];
        const cell *longest = cells;
        for (int e = 1; e < seeds; e++)
            if (cells[e].row_count > longest->row_count) longest = &cells[e];
        for (tt_size row = 0; row < longest->row_count; row++)
            print_bands_row(to, r, &r->groups[i], cells, row, longest->rows[row].step, x);
    }
    free(x);
    return true;
}

/* ---- For people ------------------------------------------------------------------------------ */

/* "stalled 4, slow 1 (too sharp)": the group's verdict first, then what other seeds did. */
static void print_verdict_cell(FILE *to, const group *g) {
    const char *reason = group_reason(g);
    (void)fprintf(to, "%s %d", VERDICT_NAMES[g->verdict], g->counts[g->verdict]);
    for (int v = 0; v < VERDICTS; v++)
        if (v != (int)g->verdict && g->counts[v] > 0)
            (void)fprintf(to, ", %s %d", VERDICT_NAMES[v], g->counts[v]);
    if (reason[0]) (void)fprintf(to, " (%s)", reason);
    (void)fputc('\n', to);
}

void report_table(FILE *to, const report *r) {
    (void)fprintf(to,
                  "ratio: loss / loss of not attending at the end, median over seeds; row grad: "
                  "through the\nsoftmax, median row, and |dL/dWq|: both at step 0, median over "
                  "seeds; verdict: seeds\n\n");
    (void)fprintf(to, "%6s  %-6s %9s %9s %20s %9s %9s  %s\n", "d_k", "scale", "lr", "ratio",
                  "(quartiles)", "row grad", "|dL/dWq|", "verdict");
    for (tt_size i = 0; i < r->count; i++) {
        const group *g = &r->groups[i];
        char quartiles[48];
        (void)snprintf(quartiles, sizeof quartiles, "(%.3g..%.3g)", g->ratio_q1, g->ratio_q3);
        (void)fprintf(to, "%6" PRId64 "  %-6s %9.3g %9.3g %20s %9.2g %9.2g  ", g->d_k,
                      g->scale->name, g->lr, g->ratio_median, quartiles,
                      g->first[M_ROW_GRAD_MEDIAN], g->first[M_GRAD_WQ]);
        print_verdict_cell(to, g);
    }
    (void)fputc('\n', to);
}

static const group *group_at(const report *r, int d_k, int scale, int lr) {
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
            const group *g = group_at(r, d, scale, lr);
            if (g->verdict != (verdict)v) continue;
            if (first) (void)fprintf(to, "%s d_k", between);
            (void)fprintf(to, "%s %" PRId64, first ? "" : ",", g->d_k);
            first = false;
        }
        if (first) continue;
        (void)fprintf(to, " %s", VERDICT_NAMES[v]);
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

/* "shrank 194-fold (0.16 to 0.00084)" */
static void print_change(FILE *to, double from, double until) {
    const bool grew = until > from;
    const double factor = grew ? until / from : from / until;
    if (from == 0 || until == 0) { /* no quotient */
        (void)fprintf(to, from == until ? "stayed 0" : "went from %.2g to %.2g", from, until);
        return;
    }
    if (factor < 1.25) {
        (void)fprintf(to, "hardly changed (%.2g to %.2g)", from, until);
        return;
    }
    (void)fprintf(to, factor < 1000 ? "%s %.3g-fold" : "%s %.0f-fold", grew ? "grew" : "shrank",
                  factor);
    (void)fprintf(to, " (%.2g to %.2g)", from, until);
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
            const group *g = group_at(r, wide, k, 0);
            (void)fprintf(to,
                          "%s scale %s: the typical row's gradient through the softmax is %.2g, "
                          "|dL/dWq| %.2g",
                          k ? ";" : "", g->scale->name, g->first[M_ROW_GRAD_MEDIAN],
                          g->first[M_GRAD_WQ]);
        }
    } else {
        (void)fprintf(to, "From d_k %" PRId64 " to %" PRId64 " at step 0:", c->d_k[narrow],
                      c->d_k[wide]);
        for (int k = 0; k < c->scale_count; k++) {
            const group *a = group_at(r, narrow, k, 0), *b = group_at(r, wide, k, 0);
            (void)fprintf(to, "%s scale %s: the typical row's gradient through the softmax ",
                          k ? ";" : "", a->scale->name);
            print_change(to, a->first[M_ROW_GRAD_MEDIAN], b->first[M_ROW_GRAD_MEDIAN]);
            (void)fputs(", |dL/dWq| ", to);
            print_change(to, a->first[M_GRAD_WQ], b->first[M_GRAD_WQ]);
        }
    }
    (void)fputs(c->seed_count > 1 ? " (row median, then median over seeds).\n" : " (row median).\n",
                to);
}

/* The widest group of a scale that did not train, at the first lr where there is one. */
static void print_failure_sentence(FILE *to, const report *r, int scale) {
    const sweep_config *c = &r->sweep->config;
    const group *worst = NULL;
    for (int l = 0; l < c->lr_count && !worst; l++)
        for (int d = 0; d < c->d_k_count; d++) {
            const group *g = group_at(r, d, scale, l);
            if (group_reason(g)[0] == '\0') continue;
            if (!worst || g->d_k > worst->d_k) worst = g;
        }
    if (!worst) return;
    (void)fprintf(
        to,
        "At d_k %" PRId64 ", scale %s, lr %.3g the %s model is %s: its rows' entropy ends "
        "at %.2g nats, the teacher's at %.2g; one scalar on its logits would bring the "
        "ratio from %.3g to %.2g (its score matrix has cosine %.2g with the teacher's).\n",
        worst->d_k, worst->scale->name, worst->lr, VERDICT_NAMES[worst->verdict],
        group_reason(worst), worst->last[M_ENTROPY_MEAN], worst->last[M_ENTROPY_TEACHER],
        worst->ratio_median, worst->last[M_RATIO_RESCALED], worst->last[M_COS_M]);
}

void report_findings(FILE *to, const report *r) {
    const sweep_config *c = &r->sweep->config;
    for (int l = 0; l < c->lr_count; l++) print_verdict_sentence(to, r, l);
    print_gradient_sentence(to, r);
    for (int k = 0; k < c->scale_count; k++) print_failure_sentence(to, r, k);
}
