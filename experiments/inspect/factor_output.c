#include "inspect/factor_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tt/elementary.h"
#include "tt/softmax_error.h"

/* The rows of a head that take part, one after the other. */
typedef struct search {
    const factor_logits *l;
    const factor_given *given;
    tt_size *row;    /* of l */
    tt_tensor z;     /* [1,rows,keys] logits at t = 1, -infinity where hidden */
    tt_tensor v, o;  /* [1,keys,d_v] with 0 for what is not finite; [1,rows,d_v] */
    double *weights; /* [keys] */
    double *pull;    /* [d_v] J / v */
    double *scratch; /* of tt_softmax_error */
    double noise;
} search;

static void search_free(search *s) {
    free(s->row);
    tt_tensor_free(&s->z);
    tt_tensor_free(&s->v);
    tt_tensor_free(&s->o);
    free(s->weights);
    free(s->pull);
    free(s->scratch);
}

static bool row_finite(const double *x, tt_size n) {
    for (tt_size i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static void take_row(search *s, tt_size row, const unsigned char *may, const double *o) {
    const tt_size keys = s->l->keys, d_v = s->v.cols, at = s->z.rows++;
    s->row[at] = row;
    for (tt_size j = 0; j < keys; j++)
        s->z.data[at * keys + j] = may[j] ? s->l->x[row * keys + j] : -INFINITY;
    memcpy(s->o.data + at * d_v, o, (size_t)d_v * sizeof *o);
    s->o.rows = s->z.rows;
}

/* A row under a mask may see no key. */
static void take_rows(search *s, const tt_mask *mask, const double *o) {
    const factor_logits *l = s->l;
    s->z.rows = s->o.rows = 0;
    for (tt_size r = 0; r < l->rows; r++) {
        const tt_size query = factor_logits_query(l, r);
        const double *given = o + query * s->v.cols;
        if (tt_mask_row(mask, 0, query, l->queries, l->keys, l->may) > 0 &&
            row_finite(given, s->v.cols))
            take_row(s, r, l->may, given);
    }
}

static bool search_new(search *s, const attention_head *head) {
    const tt_size rows = s->l->rows, keys = s->l->keys, d_v = head->v.cols;
    s->row = malloc((size_t)rows * sizeof *s->row);
    s->z = tt_tensor_new(1, rows, keys);
    s->o = tt_tensor_new(1, rows, d_v);
    s->v = tt_tensor_new(1, keys, d_v);
    s->weights = malloc((size_t)keys * sizeof *s->weights);
    s->pull = malloc((size_t)d_v * sizeof *s->pull);
    if (!s->row || !s->z.data || !s->o.data || !s->v.data || !s->weights || !s->pull) return false;
    s->scratch = malloc((size_t)tt_softmax_error_scratch(s->z, s->v) * sizeof *s->scratch);
    for (tt_size i = 0; i < keys * d_v; i++)
        s->v.data[i] = isfinite(head->v.data[i]) ? head->v.data[i] : 0;
    return s->scratch;
}

/* ---- Where to begin -------------------------------------------------------------------------- */

static double error_at(const search *s, double t) {
    return tt_softmax_error(s->z, t, s->v, s->o, s->scratch);
}

/* The best of least, 2 least, ..., and then between its neighbours. */
static double search_start(const search *s, double least, double most) {
    enum { STEPS = 24 };
    double best = least, error = INFINITY;
    for (double t = least; t <= most; t *= 2) {
        const double e = error_at(s, t);
        if (e < error) {
            error = e;
            best = t;
        }
    }
    for (double step = sqrt(2), i = 0; i < (double)STEPS; step = sqrt(step), i++) {
        const double below = error_at(s, best / step), above = error_at(s, best * step);
        if (fmin(below, above) >= error) continue;
        error = fmin(below, above);
        best = below < above ? best / step : best * step;
    }
    return best;
}

/* ---- Least squares --------------------------------------------------------------------------- */

/* softmax(t z) of a row, into weights; returns the mean of z under them. */
static double set_weights(const search *s, const double *z, double t) {
    double most = -INFINITY, total = 0, mean = 0;
    for (tt_size j = 0; j < s->z.cols; j++) most = fmax(most, z[j]);
    for (tt_size j = 0; j < s->z.cols; j++) {
        s->weights[j] = isfinite(z[j]) ? tt_exp(t * (z[j] - most)) : 0;
        total += s->weights[j];
    }
    for (tt_size j = 0; j < s->z.cols; j++) {
        s->weights[j] /= total;
        if (s->weights[j] > 0) mean += s->weights[j] * z[j];
    }
    return mean;
}

/* The variance of a weight over its square: it is rounded, and so is a sum of n products; and that
 * of a logit. */
static double weight_noise(const search *s) {
    const double unit = s->given->computed->unit;
    const double sum = s->given->computed->bits < 53 ? 0x1p-24 : 0x1p-53;
    return unit * unit + sum * sum * (double)s->z.cols / 3;
}

static double logit_noise(const search *s, tt_size row, tt_size j, double t) {
    const double z = s->z.data[row * s->z.cols + j];
    return s->noise * t * t * (z * z + s->l->squares[s->row[row] * s->z.cols + j]);
}

/* Of an output of value o, given so, in column c. */
static double variance(const search *s, tt_size row, double t, double o, double given, tt_size c) {
    const double rounding = factor_given_error(s->given, given), weight = weight_noise(s);
    double v = rounding * rounding;
    for (tt_size j = 0; j < s->z.cols; j++) {
        if (s->weights[j] == 0) continue;
        const double x = s->v.data[j * s->v.cols + c];
        v += s->weights[j] * s->weights[j] *
             (x * x * weight + (x - o) * (x - o) * logit_noise(s, row, j, t));
    }
    return v;
}

/* The errors of a weight and of a logit move all columns: what they do to the slope together. */
static double spread_of(const search *s, tt_size row, double t) {
    const tt_size d_v = s->v.cols;
    double spread = 0, centre = 0;
    for (tt_size j = 0; j < s->z.cols; j++) {
        double pull = 0;
        for (tt_size c = 0; c < d_v; c++) pull += s->pull[c] * s->v.data[j * d_v + c];
        centre += s->weights[j] * pull;
    }
    for (tt_size j = 0; j < s->z.cols; j++) {
        if (s->weights[j] == 0) continue;
        double pull = 0;
        for (tt_size c = 0; c < d_v; c++) pull += s->pull[c] * s->v.data[j * d_v + c];
        spread += s->weights[j] * s->weights[j] *
                  (pull * pull * weight_noise(s) +
                   (pull - centre) * (pull - centre) * logit_noise(s, row, j, t));
    }
    return spread;
}

static void add_row(const search *s, tt_size row, double t, factor_sums *sums) {
    const tt_size keys = s->z.cols, d_v = s->v.cols;
    const double *z = s->z.data + row * keys;
    const double mean = set_weights(s, z, t), before = sums->slope;
    for (tt_size c = 0; c < d_v; c++) {
        const double given = s->o.data[row * d_v + c], own = factor_given_error(s->given, given);
        double o = 0, slope = 0;
        for (tt_size j = 0; j < keys; j++) {
            if (s->weights[j] == 0) continue;
            const double part = s->weights[j] * s->v.data[j * d_v + c];
            o += part;
            slope += part * (z[j] - mean);
        }
        const double v = variance(s, row, t, o, given, c);
        s->pull[c] = v > 0 ? slope / v : 0;
        sums->spread += s->pull[c] * s->pull[c] * own * own;
        if (v > 0)
            factor_sums_add(sums, slope, given - o, v, factor_logits_query(s->l, s->row[row]), c);
    }
    sums->spread += spread_of(s, row, t);
    sums->rows += (sums->slope - before) * (sums->slope - before);
    sums->groups++;
}

static factor_sums sums_at(const search *s, double t) {
    factor_sums sums = {0};
    for (tt_size i = 0; i < s->z.rows; i++) add_row(s, i, t, &sums);
    return sums;
}

/* In calibration the misfit of right factors stayed below 0.8: the variances are wide. */
#define MISFIT_MOST 1.25

/* Gauss and Newton's steps, none by more than half. */
static void refine(const search *s, double t, factor_fit *out) {
    enum { STEPS = 6 };
    factor_sums sums = sums_at(s, t);
    for (int i = 0; i < STEPS && sums.square > 0; i++) {
        t += fmax(-t / 2, fmin(t / 2, sums.slope / sums.square));
        sums = sums_at(s, t);
    }
    out->factor = sums.square > 0 ? t : NAN;
    out->rows = sums.groups;
    out->differences = sums.count;
    const factor_need need = {
        .misfit = MISFIT_MOST, .bar = 0.03, .d_k = s->l->d_k, .differences = FACTOR_OUTPUTS};
    factor_judge(&sums, sums.count - 1, s->given, &need, out);
}

bool factor_fit_output(const factor_logits *l, const factor_given *given,
                       const attention_head *head, const tt_mask *mask, const double *o,
                       double least, double most, factor_fit *out) {
    search s = {.l = l, .given = given, .noise = factor_logit_noise(given->computed, l->d_k)};
    const bool good = search_new(&s, head);
    *out = (factor_fit){.verdict = FACTOR_UNKNOWN, .factor = NAN, .error = NAN};
    if (good) take_rows(&s, mask, o);
    if (good && s.z.rows > 0) refine(&s, search_start(&s, least, most), out);
    search_free(&s);
    return good;
}
