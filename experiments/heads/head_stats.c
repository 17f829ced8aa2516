#include "heads/head_stats.h"

#include <math.h>
#include <stdlib.h>

#include "common/stats.h"
#include "tt/elementary.h"
#include "tt/rowstats.h"

/* Copies the entries that may be seen to the front of x. */
static void copy_visible(const unsigned char *may, const double *row, tt_size n, double *x) {
    for (tt_size j = 0; j < n; j++)
        if (may[j]) *x++ = row[j];
}

const char *head_stat_name(int i) {
    static const char *const NAMES[HEAD_STATS + 1] = {
        [HEAD_LOGIT_SPREAD] = "logit_spread",
        [HEAD_ENTROPY] = "entropy",
        [HEAD_ENTROPY_NORMALISED] = "entropy_normalised",
        [HEAD_MAX_WEIGHT] = "max_weight",
        [HEAD_PARTICIPATION] = "participation",
        [HEAD_JACOBIAN_MEAN] = "jacobian_mean",
        [HEAD_JACOBIAN_P10] = "jacobian_p10",
        [HEAD_JACOBIAN_MEDIAN] = "jacobian_median",
        [HEAD_JACOBIAN_P90] = "jacobian_p90",
        [HEAD_JACOBIAN_TINY] = "jacobian_tiny",
        [HEAD_D_K_EQUIVALENT] = "d_k_equivalent",
    };
    return NAMES[i];
}

static void add_row(double *sum, tt_rowstats row, double deviation) {
    sum[HEAD_LOGIT_SPREAD] += deviation;
    sum[HEAD_ENTROPY] += row.entropy;
    sum[HEAD_MAX_WEIGHT] += row.max_weight;
    sum[HEAD_PARTICIPATION] += row.participation;
    sum[HEAD_JACOBIAN_TINY] += row.jacobian < JACOBIAN_TINY;
}

/* From sums over rows to what is reported; jacobian holds a value a row. */
static void divide(head_stats *s, tt_size choices, double *jacobian) {
    static const head_stat MEANS[] = {HEAD_LOGIT_SPREAD, HEAD_ENTROPY, HEAD_MAX_WEIGHT,
                                      HEAD_PARTICIPATION, HEAD_JACOBIAN_TINY};
    double *x = s->value;
    for (size_t i = 0; i < sizeof MEANS / sizeof *MEANS; i++) x[MEANS[i]] /= (double)s->rows;
    x[HEAD_ENTROPY_NORMALISED] = choices > 0 ? x[HEAD_ENTROPY_NORMALISED] / (double)choices : NAN;
    x[HEAD_D_K_EQUIVALENT] = x[HEAD_LOGIT_SPREAD] * x[HEAD_LOGIT_SPREAD];
    x[HEAD_JACOBIAN_MEAN] = stats_mean(jacobian, s->rows);
    stats_sort(jacobian, s->rows);
    x[HEAD_JACOBIAN_P10] = stats_quantile(jacobian, s->rows, 0.1);
    x[HEAD_JACOBIAN_MEDIAN] = stats_quantile(jacobian, s->rows, 0.5);
    x[HEAD_JACOBIAN_P90] = stats_quantile(jacobian, s->rows, 0.9);
}

bool head_stats_compute(const tt_mask *mask, tt_tensor logits, tt_tensor weights, head_stats *out) {
    double *x = malloc((size_t)(logits.cols > 0 ? logits.cols : 1) * sizeof *x);
    double *jacobian = malloc((size_t)(logits.rows > 0 ? logits.rows : 1) * sizeof *jacobian);
    unsigned char *may = malloc((size_t)(logits.cols > 0 ? logits.cols : 1));
    tt_size choices = 0; /* rows with at least two keys */
    *out = (head_stats){.rows = 0};
    for (tt_size i = 0; x && jacobian && may && i < logits.rows; i++) {
        const tt_size n = tt_mask_row(mask, 0, i, logits.rows, logits.cols, may);
        if (n == 0) continue;
        copy_visible(may, logits.data + i * logits.cols, logits.cols, x);
        const double deviation = stats_deviation(x, n);
        copy_visible(may, weights.data + i * logits.cols, logits.cols, x);
        tt_rowstats row = tt_rowstats_compute(x, n);
        add_row(out->value, row, deviation);
        jacobian[out->rows++] = row.jacobian;
        if (n < 2) continue;
        choices++;
        out->value[HEAD_ENTROPY_NORMALISED] += row.entropy / tt_log((double)n);
    }
    if (out->rows > 0)
        divide(out, choices, jacobian);
    else
        for (int i = 0; i < HEAD_STATS; i++) out->value[i] = NAN;
    bool good = x && jacobian && may;
    free(may);
    free(x);
    free(jacobian);
    return good;
}
