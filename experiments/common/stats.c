#include "common/stats.h"

#include <math.h>
#include <stdlib.h>

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
