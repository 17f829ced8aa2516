/* sum_lanes.h: sums of squares, one added after the other as the plain loop does, in vectors.
 *
 * While a sum s >= 0 stays below 2^(e+1), 2^e <= s, it is a multiple of u = 2^(e-52), and so
 * fl(s + t) = s + (t rounded to a multiple of u) for any t >= 0, unless t lies just between two of
 * them: then it is s that decides. So the terms can be rounded on their own, and the rounded ones,
 * whose sums are exact, be added up in any order. Where a block of terms takes the sum to 2^(e+1)
 * or beyond, or one lies between, its terms are added one by one.
 */
#ifndef TT_SUM_LANES_H
#define TT_SUM_LANES_H

#include <math.h>

#include "lanes.h"

enum { SUM_BLOCK = 64 };

/* 2^e of the sum; 0 where it is not a normal number, infinity where it is not finite. */
LANES_INLINE double unit_of(double sum) {
    uint64_t bits;
    double unit;
    memcpy(&bits, &sum, sizeof bits);
    bits &= UINT64_C(0x7ff) << 52;
    memcpy(&unit, &bits, sizeof unit);
    return unit;
}

/* The terms (x - y)^2, or (x by)^2 where y is NULL. */
LANES_INLINE lanes square_lanes(const double *x, const double *y, double by) {
    const lanes d = y ? lanes_load(x) - lanes_load(y) : lanes_load(x) * by;
    return d * d;
}

/* *sum, whose unit that is, becomes that with a block of terms. False if they cannot be rounded on
 * their own. */
LANES_INLINE bool add_block(const double *x, const double *y, double by, double unit, double *sum) {
    lanes rounded_sum = lanes_all(0);
    lane_bits between = {0};
    double of[TT_WIDTH];
    for (int i = 0; i < SUM_BLOCK; i += TT_WIDTH) {
        const lanes term = square_lanes(x + i, y ? y + i : NULL, by);
        const lanes rounded = (term + unit) - unit;
        const lane_bits rest = bits_of(term - rounded) & (UINT64_MAX >> 1);
        between |= (lane_bits)(rest == bits_of(lanes_all(unit * 0x1p-53)));
        rounded_sum += rounded;
    }
    lanes_store(of, rounded_sum);
    for (int half = TT_WIDTH / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) of[l] += of[l + half];
    if (!(*sum + of[0] < 2 * unit) || lanes_any(between)) return false;
    *sum += of[0];
    return true;
}

LANES_INLINE double square_sum(const double *x, const double *y, double by, tt_size n, double sum) {
    double unit = unit_of(sum);
    for (tt_size first = 0; first < n; first += SUM_BLOCK) {
        const bool whole = n - first >= SUM_BLOCK;
        const tt_size end = whole ? first + SUM_BLOCK : n;
        if (whole && unit > 0 && add_block(x + first, y ? y + first : NULL, by, unit, &sum))
            continue;
        for (tt_size i = first; i < end; i++) {
            const double d = y ? x[i] - y[i] : x[i] * by;
            sum += d * d;
        }
        unit = unit_of(sum); /* not sooner: the next block would wait for the sum */
    }
    return sum;
}

static double largest_size(const double *x, tt_size n) {
    lanes high = lanes_all(0);
    lane_bits odd = {0};
    double most;
    tt_size i = 0;
    for (; i + TT_WIDTH <= n; i += TT_WIDTH) {
        const lanes size = lanes_of(bits_of(lanes_load(x + i)) & (UINT64_MAX >> 1));
        odd |= (lane_bits)(size != size);
        high = lanes_larger(size, high);
    }
    most = lanes_any(odd) ? NAN : lanes_largest(high);
    for (; i < n; i++)
        if (!(fabs(x[i]) <= most)) most = isnan(most) ? most : fabs(x[i]);
    return most;
}

static double squares(const double *x, double unit, tt_size n) {
    return square_sum(x, NULL, unit, n, 0);
}

static double squared_differences(const double *x, const double *y, tt_size n, double sum) {
    return square_sum(x, y, 1, n, sum);
}

#endif
