/* precision.c: float32 that is the same everywhere: each operation is one of doubles, rounded to
 * float32 explicitly, as some machines evaluate floats in double. A product of two float32 numbers
 * is exact in double; a sum or quotient of two, rounded twice, is what one rounding gives, because
 * a double has more than twice as many bits.
 */
#include "heads/precision.h"

#include <math.h>
#include <stdlib.h>

#include "tt/elementary.h"
#include "tt/norm.h"

static const struct pipeline {
    const char *name;
    bool eager, shifted;
} PIPELINES[PRECISION_PIPELINES] = {
    [PRECISION_EAGER] = {"eager", true, false},
    [PRECISION_FLASH] = {"flash", false, false},
    [PRECISION_EAGER_SHIFTED] = {"eager-shifted", true, true},
    [PRECISION_FLASH_SHIFTED] = {"flash-shifted", false, true},
};

const char *precision_pipeline_name(int i) {
    return i < PRECISION_PIPELINES ? PIPELINES[i].name : NULL;
}

/* ---- float32 --------------------------------------------------------------------------------- */

static float sum(float a, float b) {
    return (float)((double)a + (double)b);
}

static float product(float a, float b) {
    return (float)((double)a * (double)b);
}

/* a b + c of a matrix product, where the product is not rounded, and the sum twice: on rare
 * occasions that is not what one rounding gives. */
static float fused(float a, float b, float c) {
    return (float)((double)a * (double)b + (double)c);
}

static float rounded(const number_format *f, float x) {
    return (float)format_round(f, (double)x);
}

/* The sum of a row: eight sums, entry j to the (j mod 8)th, folded like those of the library. */
enum { LANES = 8 };

typedef struct lanes {
    float of[LANES];
} lanes;

static void add(lanes *s, tt_size j, float x) {
    s->of[j % LANES] = sum(s->of[j % LANES], x);
}

static float folded(const lanes *s) {
    const float *of = s->of;
    return sum(sum(sum(of[0], of[4]), sum(of[2], of[6])),
               sum(sum(of[1], of[5]), sum(of[3], of[7])));
}

/* ---- Forward --------------------------------------------------------------------------------- */

bool precision_row_new(precision_row *row, tt_size keys) {
    *row = (precision_row){.p = malloc((size_t)keys * sizeof *row->p),
                           .dp = malloc((size_t)keys * sizeof *row->dp)};
    return row->p && row->dp;
}

void precision_row_free(precision_row *row) {
    free(row->p);
    free(row->dp);
    row->p = row->dp = NULL;
}

static void softmax(const double *z, tt_size n, float *p) {
    float most = (float)z[0];
    lanes sums = {{0}};
    for (tt_size j = 1; j < n; j++)
        if ((float)z[j] > most) most = (float)z[j];
    for (tt_size j = 0; j < n; j++) {
        p[j] = (float)tt_exp((double)sum((float)z[j], -most));
        add(&sums, j, p[j]);
    }
    const float total = folded(&sums);
    for (tt_size j = 0; j < n; j++) p[j] = (float)((double)p[j] / (double)total);
}

void precision_row_forward(precision_row *row, const number_format *f, const double *z,
                           tt_size keys, const double *v, const double *d_out, tt_size d_v) {
    lanes d = {{0}};
    row->keys = keys;
    softmax(z, keys, row->p);
    for (tt_size j = 0; j < keys; j++) { /* dP = dO V^T */
        row->dp[j] = 0;
        for (tt_size c = 0; c < d_v; c++)
            row->dp[j] = fused((float)d_out[c], (float)v[j * d_v + c], row->dp[j]);
    }
    for (tt_size c = 0; c < d_v; c++) { /* O = P V, D = dO.O */
        float out = 0;
        for (tt_size j = 0; j < keys; j++) out = fused(row->p[j], (float)v[j * d_v + c], out);
        add(&d, c, product((float)d_out[c], rounded(f, out)));
    }
    row->d = folded(&d);
}

/* ---- Backward -------------------------------------------------------------------------------- */

static tt_size largest(const float *p, tt_size n) {
    tt_size m = 0;
    for (tt_size j = 1; j < n; j++)
        if (p[j] > p[m]) m = j;
    return m;
}

/* An entry of P or dP as the pipeline has it. */
static float entry(const struct pipeline *way, const number_format *f, float x) {
    return way->eager ? rounded(f, x) : x;
}

void precision_row_backward(const precision_row *row, const number_format *f, int pipeline,
                            double *dz) {
    const struct pipeline *way = &PIPELINES[pipeline];
    const tt_size n = row->keys;
    const float shift = way->shifted ? entry(way, f, row->dp[largest(row->p, n)]) : 0;
    lanes sums = {{0}};
    for (tt_size j = 0; j < n; j++) {
        const float p = entry(way, f, row->p[j]), x = sum(entry(way, f, row->dp[j]), -shift);
        add(&sums, j, product(p, x));
    }
    const float total = way->eager || way->shifted ? folded(&sums) : row->d;
    for (tt_size j = 0; j < n; j++) {
        const float p = entry(way, f, row->p[j]), x = sum(entry(way, f, row->dp[j]), -shift);
        dz[j] = (double)rounded(f, product(p, sum(x, -total)));
    }
}

/* ---- How far off ----------------------------------------------------------------------------- */

const char *rounding_stat_name(int i) {
    static const char *const NAMES[ROUNDING_STATS + 1] = {
        [ROUNDING_ZERO_ROWS] = "zero_rows",
        [ROUNDING_MEDIAN_ROW] = "median_row_error",
        [ROUNDING_P90_ROW] = "p90_row_error",
        [ROUNDING_WHOLE] = "whole_error",
    };
    return NAMES[i];
}

double precision_relative(double off, const double *x, tt_size n) {
    const double size = tt_norm(x, n);
    if (off == 0) return 0;
    return size > 0 && isfinite(off) ? off / size : INFINITY;
}
