/* head_stats.c: see head_stats.h. */
#include "heads/head_stats.h"

#include <math.h>
#include <stdlib.h>

#include "common/stats.h"
#include "tt/rowstats.h"

/* Copies the row's visible entries to the front of x; returns how many. */
static tt_size visible_of(const tt_mask *mask, tt_tensor m, tt_size i, double *x) {
    tt_size n = 0;
    for (tt_size j = 0; j < m.cols; j++)
        if (tt_mask_allows(mask, 0, i, j, m.rows, m.cols)) x[n++] = m.data[i * m.cols + j];
    return n;
}

static void add_row(head_stats *sum, tt_rowstats row, double deviation) {
    sum->logit_spread += deviation;
    sum->entropy += row.entropy;
    sum->max_weight += row.max_weight;
    sum->participation += row.participation;
    sum->jacobian_tiny += row.jacobian < JACOBIAN_TINY;
}

static void divide(head_stats *sum, tt_size choices, double *jacobian) {
    double rows = (double)sum->rows;
    sum->logit_spread /= rows;
    sum->entropy /= rows;
    sum->entropy_normalised = choices > 0 ? sum->entropy_normalised / (double)choices : NAN;
    sum->max_weight /= rows;
    sum->participation /= rows;
    sum->jacobian_tiny /= rows;
    sum->d_k_equivalent = sum->logit_spread * sum->logit_spread;
    sum->jacobian_mean = stats_mean(jacobian, sum->rows);
    stats_sort(jacobian, sum->rows);
    sum->jacobian_p10 = stats_quantile(jacobian, sum->rows, 0.1);
    sum->jacobian_median = stats_quantile(jacobian, sum->rows, 0.5);
    sum->jacobian_p90 = stats_quantile(jacobian, sum->rows, 0.9);
}

bool head_stats_compute(const tt_mask *mask, tt_tensor logits, tt_tensor weights, head_stats *out) {
    double *x = malloc((size_t)(logits.cols > 0 ? logits.cols : 1) * sizeof *x);
    double *jacobian = malloc((size_t)(logits.rows > 0 ? logits.rows : 1) * sizeof *jacobian);
    head_stats sum = {0};
    tt_size choices = 0; /* rows with at least two keys */
    for (tt_size i = 0; x && jacobian && i < logits.rows; i++) {
        tt_size n = visible_of(mask, logits, i, x);
        double deviation = stats_deviation(x, n);
        if (n == 0) continue;
        n = visible_of(mask, weights, i, x);
        tt_rowstats row = tt_rowstats_compute(x, n);
        add_row(&sum, row, deviation);
        jacobian[sum.rows++] = row.jacobian;
        if (n < 2) continue;
        choices++;
        sum.entropy_normalised += row.entropy / log((double)n);
    }
    if (sum.rows > 0)
        divide(&sum, choices, jacobian);
    else
        sum = (head_stats){0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    *out = sum;
    bool good = x && jacobian;
    free(x);
    free(jacobian);
    return good;
}
