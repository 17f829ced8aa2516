#include "saturation/exact.h"

#include <math.h>
#include <stdlib.h>

#include "common/csv.h"
#include "common/parallel.h"
#include "common/stats.h"
#include "saturation/theory.h"
#include "tt/elementary.h"

static const double SIGMA_MOST = 64; /* theory.h is tested up to here */

/* The number that multiplies q.k when q and k are standard normal; nan if there is no such number.
 */
static double factor_of(const saturation_cell *c) {
    const tt_size d_k = (tt_size)c->d_k, keys = (tt_size)c->keys;
    const tt_scale_row row = {d_k, keys, keys};
    if (c->scale.rule.norms != TT_NORMS_NONE) return NAN;
    return fabs(scaling_query_gain(&c->scale, d_k) * tt_scale_factor(&c->scale.rule, row));
}

/* Standard deviation of the logits. */
static double sigma_of(const saturation_cell *c) {
    return c->sigma > 0 ? c->sigma : factor_of(c) * sqrt((double)c->d_k);
}

/* E|x| for a standard normal x in d dimensions, m(d) = sqrt(2) Gamma((d+1)/2) / Gamma(d/2): m(1) =
 * sqrt(2/pi), and m(d) m(d+1) = d by Gamma's recurrence. For large d the terms of Gamma's
 * asymptotic series, of which the first left out is 0.15/d^7. */
static double mean_norm(int64_t dimensions) {
    const double d = (double)dimensions, i = 1 / d;
    if (d > 200)
        return sqrt(d) *
               (1 + i * (-1.0 / 4 +
                         i * (1.0 / 32 +
                              i * (5.0 / 128 + i * (-21.0 / 2048 +
                                                    i * (-399.0 / 8192 + i * (869.0 / 65536)))))));
    double norm = 0.79788456080286535588;
    for (int64_t k = 1; k < dimensions; k++) norm = (double)k / norm;
    return norm;
}

/* Given q the logits are n i.i.d. normals of deviation f |q|, so their scatter about their own mean
 * is that times a chi variable of n - 1 degrees of freedom. */
static double mean_logit_std(const saturation_cell *c) {
    double n = (double)c->keys;
    double deviation = c->sigma > 0 ? c->sigma : factor_of(c) * mean_norm(c->d_k);
    return deviation * mean_norm(c->keys - 1) / sqrt(n);
}

static bool has_theory(const saturation_cell *c) {
    return sigma_of(c) <= SIGMA_MOST; /* false for nan */
}

static void moments_of(const saturation_cell *c, theory_moments *m) {
    if (c->sigma > 0)
        theory_iid((int)c->keys, c->sigma, m);
    else
        theory_qk((int)c->keys, (int)c->d_k, factor_of(c), m);
}

static void set_exact(void *context, tt_size i) {
    saturation_cell *c = &((saturation *)context)->cells[i];
    theory_moments m;
    if (!has_theory(c)) return;
    moments_of(c, &m);
    c->exact[SAT_ENTROPY] = m.entropy;
    c->exact[SAT_ENTROPY_OVER_LN_N] = m.entropy / tt_log((double)c->keys);
    c->exact[SAT_MAX_WEIGHT] = m.max_weight;
    c->exact[SAT_ONE_MINUS_MAX] = 1 - m.max_weight;
    c->exact[SAT_PARTICIPATION] = m.sum_w2;
    c->exact[SAT_JACOBIAN_SQUARED] = m.jacobian_fro2;
    c->exact[SAT_ROW_GRAD_SQUARED] = m.jacobian_fro2; /* E|J^T x|^2 = |J|_F^2 for x ~ N(0, 1) */
}

void saturation_exact(saturation *s) {
    for (tt_size i = 0; i < s->count; i++) {
        saturation_cell *c = &s->cells[i];
        for (int k = 0; k < SAT_METRICS; k++) c->exact[k] = NAN;
        if (has_theory(c)) c->exact[SAT_LOGIT_STD] = mean_logit_std(c);
    }
    parallel_for(s->config.threads, s->count, set_exact, s);
}

/* ---- The grid -------------------------------------------------------------------------------- */

enum { BETWEEN_MOST = 200 }; /* more points than a figure can show are only slow */

/* The run's own d_k or sigma and points between, ascending, each once. The caller frees. */
static double *grid_of(const saturation *s, tt_size *count) {
    const bool by_sigma = s->config.sigma_count > 0;
    const int per_octave = by_sigma ? 12 : 3;
    double least = INFINITY, most = 0;
    for (int x = 0; x < s->levels; x++) {
        double v = by_sigma ? s->config.sigma[x] : (double)s->config.d_k[x];
        least = fmin(least, v);
        most = fmax(most, v);
    }
    const double width = tt_log(most / least); /* whole octaves may be just below their number */
    const tt_size between = (tt_size)fmin(per_octave * (width / TT_LN2) + 1e-9, BETWEEN_MOST);
    double *grid = calloc((size_t)(between + s->levels), sizeof *grid);
    tt_size n = 0;
    if (!grid) return NULL;
    for (int x = 0; x < s->levels; x++)
        grid[n++] = by_sigma ? s->config.sigma[x] : (double)s->config.d_k[x];
    for (tt_size i = 1; i <= between; i++) {
        double v = least * tt_exp(width * (double)i / (double)(between + 1));
        grid[n++] = by_sigma ? v : round(v);
    }
    stats_sort(grid, n);
    *count = 0;
    for (tt_size i = 0; i < n; i++)
        if (*count == 0 || grid[i] > grid[*count - 1] * (by_sigma ? 1 + 1e-9 : 1))
            grid[(*count)++] = grid[i];
    return grid;
}

typedef struct point {
    saturation_cell cell;
    theory_moments moments;
    double two_key_gap;
} point;

static double two_key_gap_of(const saturation_cell *c) {
    return c->sigma > 0 ? theory_median_gap(2) * c->sigma
                        : theory_two_key_gap((int)c->d_k) * factor_of(c);
}

static void compute_point(void *context, tt_size i) {
    point *p = (point *)context + i;
    if (!has_theory(&p->cell)) return;
    moments_of(&p->cell, &p->moments);
    p->two_key_gap = two_key_gap_of(&p->cell);
}

static void print_point(FILE *to, const point *p, double gap_density, double median_gap) {
    const saturation_cell *c = &p->cell;
    const theory_moments *m = &p->moments;
    const double sigma = sigma_of(c), n = (double)c->keys;
    const double value[] = {
        mean_logit_std(c), m->entropy,     m->entropy / tt_log(n),     m->max_weight,
        1 - m->max_weight, m->sum_w2,      sqrt(m->jacobian_fro2),     gap_density,
        median_gap,        p->two_key_gap, theory_freezing_d_k((int)n)};
    char number[NUMBER_BYTES];
    if (c->sigma > 0)
        (void)fprintf(to, "%s,%d", csv_format(number, sigma), (int)n);
    else
        (void)fprintf(to, "%d,%d,%s,%s", (int)c->d_k, (int)n, c->scale.name,
                      csv_format(number, sigma));
    for (size_t i = 0; i < sizeof value / sizeof *value; i++) csv_number(to, value[i]);
    (void)fputc('\n', to);
}

bool saturation_theory_csv(FILE *to, const saturation *s) {
    const bool by_sigma = s->config.sigma_count > 0;
    tt_size count = 0;
    double *grid = grid_of(s, &count);
    point *points = calloc((size_t)(count > 0 ? count : 1), sizeof *points);
    bool good = grid && points;
    (void)fprintf(to,
                  "%s,logit_std,entropy,entropy_over_ln_n,max_weight,one_minus_max_weight,"
                  "participation,jacobian_rms,gap_density,median_gap,two_key_gap,freezing_d_k\n",
                  by_sigma ? "sigma,keys" : "d_k,keys,scale,sigma");
    for (int n = 0; good && n < s->config.keys_count; n++)
        for (int k = 0; k < s->rules; k++) {
            const int keys = (int)s->config.keys[n];
            for (tt_size i = 0; i < count; i++) {
                points[i] = (point){.cell = *saturation_at(s, 0, n, k)};
                if (by_sigma) {
                    points[i].cell.sigma = grid[i];
                    points[i].cell.scale.rule.number = grid[i];
                } else {
                    points[i].cell.d_k = (int64_t)grid[i];
                }
            }
            parallel_for(s->config.threads, count, compute_point, points);
            for (tt_size i = 0; i < count; i++)
                if (has_theory(&points[i].cell))
                    print_point(to, &points[i], theory_gap_density(keys), theory_median_gap(keys));
        }
    free(points);
    free(grid);
    return good;
}
