#include "heads/head_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"
#include "common/stats.h"
#include "tt/elementary.h"

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
        [HEAD_ENTROPY_UNIFORM] = "entropy_uniform",
        [HEAD_LOGIT_LARGEST] = "logit_largest",
        [HEAD_ONE_BFLOAT16] = "one_bfloat16",
    };
    return NAMES[i];
}

/* ---- One row --------------------------------------------------------------------------------- */

/* The visible entries side by side: the row itself where they are its first ones, else copies. */
static const double *visible_of(const unsigned char *may, tt_size visible, const double *row,
                                tt_size n, double *x) {
    if (!memchr(may, 0, (size_t)visible)) return row;
    tt_size at = 0;
    for (tt_size j = 0; j < n; j++)
        if (may[j]) x[at++] = row[j];
    return x;
}

static tt_size first_not_finite(const unsigned char *may, const double *row, tt_size n) {
    for (tt_size j = 0; j < n; j++)
        if (may[j] && !isfinite(row[j])) return j;
    return -1;
}

static double largest_of(const unsigned char *may, const double *row, tt_size n) {
    double most = 0;
    for (tt_size j = 0; j < n; j++)
        if (may[j]) most = fmax(most, fabs(row[j]));
    return most;
}

measured_row row_measure(const unsigned char *may, tt_size visible, const double *logits,
                         const double *weights, tt_size n, double *x) {
    measured_row row = {.keys = visible, .beyond = -1};
    if (visible == 0) return row;
    row.deviation = stats_deviation(visible_of(may, visible, logits, n, x), visible);
    if (!isfinite(row.deviation)) row.beyond = first_not_finite(may, logits, n);
    row.largest = largest_of(may, logits, n);
    row.stats = tt_rowstats_compute(visible_of(may, visible, weights, n, x), visible);
    return row;
}

/* ---- All rows -------------------------------------------------------------------------------- */

static void add_row(double *sum, const measured_row *row) {
    const double uniform = tt_log((double)row->keys);
    sum[HEAD_LOGIT_SPREAD] += row->deviation;
    sum[HEAD_ENTROPY] += row->stats.entropy;
    sum[HEAD_ENTROPY_UNIFORM] += uniform;
    if (row->keys > 1) sum[HEAD_ENTROPY_NORMALISED] += row->stats.entropy / uniform;
    sum[HEAD_MAX_WEIGHT] += row->stats.max_weight;
    sum[HEAD_PARTICIPATION] += row->stats.participation;
    sum[HEAD_JACOBIAN_TINY] += row->stats.jacobian < JACOBIAN_TINY;
    sum[HEAD_LOGIT_LARGEST] = fmax(sum[HEAD_LOGIT_LARGEST], row->largest);
    sum[HEAD_ONE_BFLOAT16] += format_round(format_find("bfloat16"), row->stats.max_weight) == 1;
}

/* From sums over rows to what is reported; jacobian holds a value a row. */
static void divide(head_stats *s, tt_size choices, double *jacobian) {
    static const head_stat MEANS[] = {HEAD_LOGIT_SPREAD,  HEAD_ENTROPY,       HEAD_MAX_WEIGHT,
                                      HEAD_PARTICIPATION, HEAD_JACOBIAN_TINY, HEAD_ENTROPY_UNIFORM,
                                      HEAD_ONE_BFLOAT16};
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

bool head_stats_of_rows(const measured_row *rows, tt_size count, head_stats *out) {
    double *jacobian = malloc((size_t)(count > 0 ? count : 1) * sizeof *jacobian);
    tt_size choices = 0; /* rows with at least two keys */
    *out = (head_stats){.rows = 0};
    if (!jacobian) return false;
    for (tt_size i = 0; i < count; i++) {
        if (rows[i].keys == 0) continue;
        add_row(out->value, &rows[i]);
        jacobian[out->rows++] = rows[i].stats.jacobian;
        choices += rows[i].keys > 1;
    }
    if (out->rows > 0)
        divide(out, choices, jacobian);
    else
        for (int i = 0; i < HEAD_STATS; i++) out->value[i] = NAN;
    free(jacobian);
    return true;
}

bool head_stats_compute(const tt_mask *mask, tt_tensor logits, tt_tensor weights, head_stats *out) {
    const tt_size rows = logits.rows, n = logits.cols;
    measured_row *row = malloc((size_t)(rows > 0 ? rows : 1) * sizeof *row);
    double *x = malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
    unsigned char *may = malloc((size_t)(n > 0 ? n : 1));
    bool good = row && x && may;
    for (tt_size i = 0; good && i < rows; i++) {
        const tt_size visible = tt_mask_row(mask, 0, i, rows, n, may);
        row[i] = row_measure(may, visible, logits.data + i * n, weights.data + i * n, n, x);
    }
    good = good && head_stats_of_rows(row, rows, out);
    free(may);
    free(x);
    free(row);
    return good;
}
