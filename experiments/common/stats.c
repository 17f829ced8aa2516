#include "common/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tt/norm.h"

double stats_mean(const double *x, tt_size n) {
    double sum = 0;
    for (tt_size i = 0; i < n; i++) sum += x[i];
    return n > 0 ? sum / (double)n : 0;
}

double stats_deviation(const double *x, tt_size n) {
    double mean = stats_mean(x, n);
    double sum = 0;
    for (tt_size i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return n > 0 ? sqrt(sum / (double)n) : 0;
}

double stats_cosine(const double *x, const double *y, tt_size n) {
    double dot = 0;
    for (tt_size i = 0; i < n; i++) dot += x[i] * y[i];
    const double norms = tt_norm(x, n) * tt_norm(y, n);
    return norms > 0 ? dot / norms : 0;
}

/* Bits whose order as whole numbers is that of the doubles, and back. */
static uint64_t key_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double of_key(uint64_t key) {
    double x;
    key = key >> 63 ? key ^ UINT64_C(1) << 63 : ~key;
    memcpy(&x, &key, sizeof x);
    return x;
}

/* By their keys, which tell -0 from 0: few are sorted as many are, whatever qsort does of equals.
 */
static int compare(const void *a, const void *b) {
    const uint64_t x = key_of(*(const double *)a), y = key_of(*(const double *)b);
    return (x > y) - (x < y);
}

enum { DIGIT_BITS = 8, DIGITS = 64 / DIGIT_BITS, DIGIT_VALUES = 1 << DIGIT_BITS, FEW = 256 };

/* One stable pass by a digit, from one array to the other; false if all have the same. */
static bool sort_by_digit(const uint64_t *from, uint64_t *to, tt_size n, int digit) {
    tt_size at[DIGIT_VALUES] = {0}, before = 0;
    const int shift = digit * DIGIT_BITS;
    for (tt_size i = 0; i < n; i++) at[from[i] >> shift & (DIGIT_VALUES - 1)]++;
    if (at[from[0] >> shift & (DIGIT_VALUES - 1)] == n) return false;
    for (int d = 0; d < DIGIT_VALUES; d++) {
        const tt_size count = at[d];
        at[d] = before;
        before += count;
    }
    for (tt_size i = 0; i < n; i++) to[at[from[i] >> shift & (DIGIT_VALUES - 1)]++] = from[i];
    return true;
}

/* By digits, from the lowest on, where there are many and there is memory for it. */
void stats_sort(double *x, tt_size n) {
    uint64_t *keys = n >= FEW ? malloc(2 * (size_t)n * sizeof *keys) : NULL;
    if (!keys) {
        if (n > 1) qsort(x, (size_t)n, sizeof *x, compare);
        return;
    }
    uint64_t *from = keys, *to = keys + n;
    for (tt_size i = 0; i < n; i++) from[i] = key_of(x[i]);
    for (int digit = 0; digit < DIGITS; digit++)
        if (sort_by_digit(from, to, n, digit)) {
            uint64_t *sorted = to;
            to = from;
            from = sorted;
        }
    for (tt_size i = 0; i < n; i++) x[i] = of_key(from[i]);
    free(keys);
}

double stats_quantile(const double *sorted, tt_size n, double p) {
    double position = p * (double)(n - 1);
    tt_size below = (tt_size)floor(position);
    double share = position - (double)below;
    /* Without a second neighbour, and with two infinite ones, there is nothing between. */
    if (share == 0 || sorted[below] == sorted[below + 1]) return sorted[below];
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

double stats_median(double *x, tt_size n) {
    stats_sort(x, n);
    return n > 0 ? stats_quantile(x, n, 0.5) : NAN;
}

bool stats_finite(const double *x, tt_size n) {
    for (tt_size i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}
