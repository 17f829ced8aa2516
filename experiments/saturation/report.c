#include "saturation/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/change.h"
#include "common/csv.h"
#include "common/text.h"
#include "saturation/theory.h"
#include "tt/elementary.h"

static bool by_sigma(const saturation *s) {
    return s->config.sigma_count > 0;
}

/* ---- Measured against exact ------------------------------------------------------------------ */

double saturation_z(const saturation_cell *c, int metric) {
    /* Ten times the largest error that theory.h allows its values; rows that hardly scatter (a
     * scale near 0) would otherwise be compared with rounding. */
    static const double LEAST_ERROR = 1e-7;
    const saturation_summary *m = &c->of[metric];
    if (!(m->standard_error > LEAST_ERROR)) return NAN;
    return (m->mean - c->exact[metric]) / m->standard_error;
}

comparisons saturation_compare(const saturation *s) {
    comparisons found = {0};
    for (tt_size i = 0; i < s->count; i++)
        for (int m = 0; m < saturation_metrics(s); m++) {
            double z = fabs(saturation_z(&s->cells[i], m));
            if (isnan(z)) continue;
            if (m == SAT_ENTROPY_OVER_LN_N || m == SAT_ONE_MINUS_MAX) {
                found.repeats++;
                continue;
            }
            found.count++;
            if (found.cell && z <= found.largest) continue;
            found = (comparisons){found.count, found.repeats, z, &s->cells[i], m};
        }
    return found;
}

double saturation_largest_of(int count, double probability) {
    /* 1 - P(|z| < x)^count = probability */
    const double tail = -tt_expm1(tt_log1p(-probability) / count);
    double low = 0, high = 40;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (2 * (1 - theory_normal_cdf(middle)) > tail)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_key(FILE *to, const saturation *s, const saturation_cell *c, int metric) {
    char number[NUMBER_BYTES];
    if (by_sigma(s))
        (void)fprintf(to, "%s,%" PRId64, csv_format(number, c->sigma), c->keys);
    else
        (void)fprintf(to, "%" PRId64 ",%" PRId64 ",%s", c->d_k, c->keys, c->scale.name);
    (void)fprintf(to, ",%s", saturation_metric_name(metric));
}

void saturation_csv(FILE *to, const saturation *s) {
    (void)fprintf(to, "%s,metric,statistic,value,standard_error,theory,z\n",
                  by_sigma(s) ? "sigma,keys" : "d_k,keys,scale");
    for (tt_size i = 0; i < s->count; i++)
        for (int m = 0; s->cells[i].finished && m < saturation_metrics(s); m++) {
            const saturation_cell *c = &s->cells[i];
            const saturation_summary *of = &c->of[m];
            const struct {
                const char *name;
                double value, error, theory, z;
            } lines[] = {
                {"mean", of->mean, of->standard_error, c->exact[m], saturation_z(c, m)},
                {"p10", of->p10, NAN, NAN, NAN},
                {"median", of->median, NAN, NAN, NAN},
                {"p90", of->p90, NAN, NAN, NAN},
                {"pooled", c->pooled, c->pooled_error, NAN, NAN}, /* of the logits alone */
            };
            const size_t count = sizeof lines / sizeof *lines - (m != SAT_LOGIT_STD);
            for (size_t l = 0; l < count; l++) {
                print_key(to, s, c, m);
                (void)fprintf(to, ",%s", lines[l].name);
                csv_known(to, lines[l].value);
                csv_known(to, lines[l].error);
                csv_known(to, lines[l].theory);
                csv_known(to, lines[l].z);
                (void)fputc('\n', to);
            }
        }
}

/* ---- Table ----------------------------------------------------------------------------------- */

/* An error that four digits would show as 0 is scientific. */
static void print_with_error(FILE *to, const saturation_summary *m) {
    const double error = m->standard_error;
    if (isnan(error))
        (void)fprintf(to, " %5.3f         ", m->mean);
    else
        (void)fprintf(to, error > 0 && error < 5e-5 ? " %5.3f +-%6.0e" : " %5.3f +-%6.4f", m->mean,
                      error);
}

/* A line over the columns: what is measured, then which statistic of it. */
static void print_heads(FILE *to, const saturation *s, const char *left,
                        const char *const head[4]) {
    (void)fprintf(to, by_sigma(s) ? "%-13s" : "%-17s", left);
    (void)fprintf(to, " %-14s %-14s  %15s %15s\n", head[0], head[1], head[2], head[3]);
}

static void print_table(FILE *to, const void *context) {
    const saturation *s = context;
    const char *gradient = by_sigma(s) ? "---- |dZ| ----" : "---- |dQ| ----";
    print_heads(to, s, "",
                (const char *const[]){"   entropy", "  max weight", "----- |J| ----", gradient});
    print_heads(to, s, by_sigma(s) ? "   sigma keys" : "  d_k keys scale",
                (const char *const[]){" mean +- error", " mean +- error", "   mean  median",
                                      "   mean  median"});
    for (tt_size i = 0; i < s->count; i++) {
        const saturation_cell *c = &s->cells[i];
        const saturation_summary *g = &c->of[by_sigma(s) ? SAT_ROW_GRAD : SAT_DQ];
        if (by_sigma(s))
            (void)fprintf(to, "%8.4g %4" PRId64, c->sigma, c->keys);
        else
            (void)fprintf(to, "%5" PRId64 " %4" PRId64 " %-6s", c->d_k, c->keys, c->scale.name);
        print_with_error(to, &c->of[SAT_ENTROPY]);
        print_with_error(to, &c->of[SAT_MAX_WEIGHT]);
        (void)fprintf(to, " %8.2g %7.2g %7.2g %7.2g\n", c->of[SAT_JACOBIAN].mean,
                      c->of[SAT_JACOBIAN].median, g->mean, g->median);
    }
}

void saturation_table(FILE *to, const saturation *s) {
    text_line(to, 0,
              "Random rows of n keys. Entropy (nats) and largest weight: mean over the rows +- its "
              "standard error. |J|: Frobenius norm of the softmax's Jacobian diag(w) - w w^T, mean "
              "and median over the rows. %s where that of the weights is N(0,1), mean and median.",
              by_sigma(s) ? "|dZ|: norm of the gradient of a row's logits"
                          : "|dQ|: norm of the gradient of a row's query");
    (void)fputc('\n', to);
    text_flow_from(to, print_table, s, 8);
    (void)fputc('\n', to);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

/* "d_k 512, 16 keys, scale none" or "sigma 8, 16 keys" */
static void print_cell(FILE *to, const saturation *s, const saturation_cell *c) {
    if (by_sigma(s))
        (void)fprintf(to, "sigma %.4g, %" PRId64 " keys", c->sigma, c->keys);
    else
        (void)fprintf(to, "d_k %" PRId64 ", %" PRId64 " keys, scale %s", c->d_k, c->keys,
                      c->scale.name);
}

static void print_comparison_sentence(FILE *to, const saturation *s) {
    comparisons found = saturation_compare(s);
    if (found.count == 0) {
        (void)fputs("No mean could be compared with an exact value.\n", to);
        return;
    }
    (void)fprintf(to, "Measured against exact: %d comparison%s, the largest |z| is %.2f (%s at ",
                  found.count, found.count == 1 ? "" : "s", found.largest,
                  saturation_metric_name(found.metric));
    print_cell(to, s, found.cell);
    (void)fprintf(
        to,
        "). The file's other %d z, of entropy / ln n and 1 - largest weight, repeat those of "
        "entropy and largest weight and are not counted again. Of %d independent ones "
        "the largest is above %.2f every second time and above %.2f one time in twenty; "
        "these share rows, so at most as often.\n",
        found.repeats, found.count, saturation_largest_of(found.count, 0.5),
        saturation_largest_of(found.count, 0.05));
}

static double setting_of(const saturation *s, int x) {
    return by_sigma(s) ? s->config.sigma[x] : (double)s->config.d_k[x];
}

static int rule_named(const saturation *s, const char *name) {
    for (int k = 0; k < s->rules; k++)
        if (strcmp(saturation_at(s, 0, 0, k)->scale.name, name) == 0) return k;
    return -1;
}

/* The settings next to a value, below and above it; -1 where there is none. */
static void neighbours(const saturation *s, double value, int *below, int *above) {
    *below = *above = -1;
    for (int x = 0; x < s->levels; x++) {
        double v = setting_of(s, x);
        if (v <= value && (*below < 0 || v > setting_of(s, *below))) *below = x;
        if (v > value && (*above < 0 || v < setting_of(s, *above))) *above = x;
    }
}

static void print_state(FILE *to, const saturation *s, int x, int keys, int rule) {
    const saturation_cell *c = saturation_at(s, x, keys, rule);
    (void)fprintf(to, "%s %.4g the largest weight is %.2g on average, the entropy %.2g of ln n",
                  by_sigma(s) ? "sigma" : "d_k", setting_of(s, x), c->of[SAT_MAX_WEIGHT].mean,
                  c->of[SAT_ENTROPY_OVER_LN_N].mean);
}

/* How sharp the unscaled softmax is on both sides of the freezing line. */
static void print_freezing_sentence(FILE *to, const saturation *s, int keys, int rule) {
    const int n = (int)s->config.keys[keys];
    const double d_k = theory_freezing_d_k(n), line = by_sigma(s) ? sqrt(d_k) : d_k;
    int below, above;
    neighbours(s, line, &below, &above);
    (void)fprintf(to, "%d keys: %s %.3g", n,
                  by_sigma(s) ? "the freezing line of large n is sigma* = sqrt(2 ln n) ="
                              : "without the scale the freezing line of large n is d_k* = 2 ln n =",
                  line);
    if (below < 0 || above < 0)
        (void)fprintf(to, "; all %s of this run%s %s that. At ", by_sigma(s) ? "sigma" : "d_k",
                      s->rules > 1 ? ", under scale none, lie" : " lie",
                      above < 0 ? "below" : "beyond");
    else
        (void)fputs(". At ", to);
    if (below >= 0) print_state(to, s, below, keys, rule);
    if (below >= 0 && above >= 0) (void)fputs("; at ", to);
    if (above >= 0) print_state(to, s, above, keys, rule);
    (void)fputs(".\n", to);
}

/* How mean and median of |J| part ways from the least setting beyond the freezing line to the
 * greatest. Below the line they need not fall at all. */
static void print_parting_sentence(FILE *to, const saturation *s, int keys, int rule) {
    const double d_k = theory_freezing_d_k((int)s->config.keys[keys]);
    int below, from, until;
    neighbours(s, by_sigma(s) ? sqrt(d_k) : d_k, &below, &from);
    neighbours(s, INFINITY, &until, &below);
    if (from < 0 || from == until) return;
    const saturation_summary *a = &saturation_at(s, from, keys, rule)->of[SAT_JACOBIAN];
    const saturation_summary *b = &saturation_at(s, until, keys, rule)->of[SAT_JACOBIAN];
    (void)fprintf(to, "%" PRId64 " keys, %s %.4g to %.4g", s->config.keys[keys],
                  by_sigma(s) ? "sigma" : "d_k", setting_of(s, from), setting_of(s, until));
    if (!by_sigma(s)) (void)fprintf(to, ", scale %s", saturation_at(s, 0, keys, rule)->scale.name);
    (void)fputs(": the Jacobian's norm, mean over rows, ", to);
    change_print(to, a->mean, b->mean);
    (void)fputs("; the typical (median) row's ", to);
    change_print(to, a->median, b->median);
    (void)fputs(".\n", to);
}

/* All rules side by side at the greatest d_k. */
static void print_rules_sentence(FILE *to, const saturation *s, int keys) {
    int widest, none;
    neighbours(s, INFINITY, &widest, &none);
    (void)fprintf(to, "%" PRId64 " keys, d_k %.4g, mean largest weight and median |dQ|:",
                  s->config.keys[keys], setting_of(s, widest));
    for (int k = 0; k < s->rules; k++) {
        const saturation_cell *c = saturation_at(s, widest, keys, k);
        (void)fprintf(to, "%s %s %.2g, %.2g", k ? ";" : "", c->scale.name,
                      c->of[SAT_MAX_WEIGHT].mean, c->of[SAT_DQ].median);
    }
    (void)fputs(".\n", to);
}

static void print_findings(FILE *to, const void *context) {
    const saturation *s = context;
    print_comparison_sentence(to, s);
    const int none = by_sigma(s) ? 0 : rule_named(s, "none"), sqrt_rule = rule_named(s, "sqrt");
    for (int n = 0; n < s->config.keys_count; n++) {
        if (none >= 0) print_freezing_sentence(to, s, n, none);
        if (none >= 0) print_parting_sentence(to, s, n, none);
        if (sqrt_rule >= 0) print_parting_sentence(to, s, n, sqrt_rule);
        if (!by_sigma(s)) print_rules_sentence(to, s, n);
    }
}

void saturation_findings(FILE *to, const saturation *s) {
    text_flow_from(to, print_findings, s, 0);
}
