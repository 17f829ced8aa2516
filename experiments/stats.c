/* stats.c: see stats.h. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

double stats_norm(const double *x, tt_size n) {
    double largest = 0;
    for (tt_size i = 0; i < n; i++) {
        if (isnan(x[i])) return x[i];
        if (fabs(x[i]) > largest) largest = fabs(x[i]);
    }
    if (largest == 0 || isinf(largest)) return largest;
    /* A power of two scales without rounding, so ordinary values give the ordinary sum's bits; it
     * stays below 2^1000, or it would overflow for subnormal entries. */
    int exponent;
    (void)frexp(largest, &exponent);
    if (exponent < -1000) exponent = -1000;
    const double unit = ldexp(1, -exponent);
    double sum = 0;
    for (tt_size i = 0; i < n; i++) {
        double share = x[i] * unit;
        sum += share * share;
    }
    return ldexp(sqrt(sum), exponent);
}

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

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stats_sort(double *x, tt_size n) {
    if (n > 1) qsort(x, (size_t)n, sizeof *x, compare);
}

double stats_quantile(const double *sorted, tt_size n, double p) {
    double position = p * (double)(n - 1);
    tt_size below = (tt_size)floor(position);
    double share = position - (double)below;
    /* Without a second neighbour, and with two infinite ones, there is nothing between. */
    if (share == 0 || sorted[below] == sorted[below + 1]) return sorted[below];
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

bool stats_finite(const double *x, tt_size n) {
    for (tt_size i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}
