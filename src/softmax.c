/* softmax.c: a NaN is looked for nowhere: it makes the sum, and so the row, NaN. */
#include "softmax.h"

#include <math.h>
#include <stdbool.h>

static bool is_allowed(const unsigned char *allowed, tt_size j) {
    return !allowed || allowed[j];
}

void tt_softmax_row(const double *z, const unsigned char *allowed, tt_size n, double *w) {
    double largest = -INFINITY;
    for (tt_size j = 0; j < n; j++)
        if (is_allowed(allowed, j) && z[j] > largest) largest = z[j];
    double sum = 0;
    for (tt_size j = 0; j < n; j++) {
        w[j] = is_allowed(allowed, j) ? exp(z[j] - largest) : 0;
        sum += w[j];
    }
    if (sum == 0) return; /* nothing is allowed */
    for (tt_size j = 0; j < n; j++) w[j] /= sum;
}

void tt_softmax_row_backward(const double *w, const double *dw, const unsigned char *allowed,
                             tt_size n, double *dz) {
    tt_size m = 0;
    for (tt_size j = 1; j < n; j++)
        if (w[j] > w[m]) m = j;
    const double shift = n > 0 ? dw[m] : 0;
    double sum = 0; /* the term of m itself is w_m * 0 */
    for (tt_size j = 0; j < n; j++)
        if (is_allowed(allowed, j)) sum += w[j] * (dw[j] - shift);
    for (tt_size j = 0; j < n; j++)
        dz[j] = is_allowed(allowed, j) ? w[j] * ((dw[j] - shift) - sum) : 0;
}
