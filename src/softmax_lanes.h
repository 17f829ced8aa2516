/* softmax_lanes.h: a row of softmax, forward and backward, in vectors, and what they leave
 * one by one: the same bits, and no slower where a row is short.
 */
#ifndef TT_SOFTMAX_LANES_H
#define TT_SOFTMAX_LANES_H

#include <math.h>

#include "elementary_lanes.h"
#include "tt/elementary.h"

/* The largest entry, -infinity if there is none; NaN is passed over. */
LANES_INLINE double largest(const double *z, tt_size n) {
    double most = -INFINITY;
    tt_size j = 0;
    if (n >= TT_WIDTH) {
        lanes high[4];
        LANES_UNROLL
        for (int v = 0; v < 4; v++) high[v] = lanes_all(-INFINITY);
        for (; j + 4 * TT_WIDTH <= n; j += 4 * TT_WIDTH) {
            LANES_UNROLL
            for (int v = 0; v < 4; v++)
                high[v] = lanes_larger(lanes_load(z + j + v * TT_WIDTH), high[v]);
        }
        for (; j + TT_WIDTH <= n; j += TT_WIDTH) high[0] = lanes_larger(lanes_load(z + j), high[0]);
        high[0] = lanes_larger(high[1], high[0]);
        high[2] = lanes_larger(high[3], high[2]);
        most = lanes_largest(lanes_larger(high[2], high[0]));
    }
    for (; j < n; j++)
        if (z[j] > most) most = z[j];
    return most;
}

/* Apart, so that the loop around it keeps its registers. */
static __attribute__((noinline)) void exp_one_by_one(const double *z, double most, double *w) {
    for (int l = 0; l < TT_WIDTH; l++) w[l] = tt_exp(z[l] - most);
}

/* w_j = exp(z_j - most); their sum. */
LANES_INLINE double exp_row(const double *z, double most, tt_size n, double *w) {
    double sums[SUM_LANES] = {0};
    lanes sum[SUM_VECTORS] = {{0}};
    tt_size j = 0;
    for (; j + SUM_LANES <= n; j += SUM_LANES) {
        LANES_UNROLL
        for (int v = 0; v < SUM_VECTORS; v++) {
            const tt_size at = j + v * TT_WIDTH;
            const lanes x = lanes_load(z + at) - most;
            const lane_bits none = (lane_bits)(x <= -746);
            if (!lanes_any((lane_bits)(x < -708) & ~none)) /* where exp_lanes is right, or NaN */
                lanes_store(w + at, lanes_of(bits_of(exp_lanes(x)) & ~none));
            else
                exp_one_by_one(z + at, most, w + at);
            sum[v] += lanes_load(w + at);
        }
    }
    if (j > 0) lanes_store_sums(sums, sum);
    for (; j < n; j++) {
        w[j] = tt_exp(z[j] - most);
        sums[j % SUM_LANES] += w[j];
    }
    return lanes_total(sums);
}

LANES_INLINE void divide_row(double *w, tt_size n, double total) {
    tt_size j = 0;
    for (; j + TT_WIDTH <= n; j += TT_WIDTH) lanes_store(w + j, lanes_load(w + j) / total);
    for (; j < n; j++) w[j] /= total;
}

/* So many rows take each pass together: alone a row would wait for its last pass to end. */
enum { ROWS_AT_ONCE = 8 };

static void softmax(const double *z, tt_size rows, tt_size n, double *w) {
    double most[ROWS_AT_ONCE], total[ROWS_AT_ONCE];
    for (tt_size first = 0; first < rows; first += ROWS_AT_ONCE) {
        const tt_size count = rows - first < ROWS_AT_ONCE ? rows - first : ROWS_AT_ONCE;
        const double *from = z + first * n;
        double *to = w + first * n;
        for (tt_size r = 0; r < count; r++) most[r] = largest(from + r * n, n);
        for (tt_size r = 0; r < count; r++)
            total[r] = exp_row(from + r * n, most[r], n, to + r * n);
        for (tt_size r = 0; r < count; r++) divide_row(to + r * n, n, total[r]);
    }
}

/* Where the first of the largest weights is; anywhere if all are NaN, as the gradient is then. */
static tt_size largest_at(const double *w, tt_size n) {
    const double most = largest(w, n);
    tt_size m = 0;
    while (m + 1 < n && w[m] != most) m++;
    return m;
}

static void softmax_backward(const double *w, const double *dw, tt_size n, double *dz) {
    double sums[SUM_LANES] = {0};
    const double shift = n > 0 ? dw[largest_at(w, n)] : 0;
    tt_size j = 0;
    if (n >= SUM_LANES) {
        lanes sum[SUM_VECTORS] = {{0}};
        for (; j + SUM_LANES <= n; j += SUM_LANES) {
            LANES_UNROLL
            for (int v = 0; v < SUM_VECTORS; v++) {
                const tt_size at = j + v * TT_WIDTH;
                sum[v] += lanes_load(w + at) * (lanes_load(dw + at) - shift);
            }
        }
        lanes_store_sums(sums, sum);
    }
    for (; j < n; j++) sums[j % SUM_LANES] += w[j] * (dw[j] - shift);

    const double total = lanes_total(sums);
    for (j = 0; j + TT_WIDTH <= n; j += TT_WIDTH)
        lanes_store(dz + j, lanes_load(w + j) * ((lanes_load(dw + j) - shift) - total));
    for (; j < n; j++) dz[j] = w[j] * ((dw[j] - shift) - total);
}

#endif
