/* softmax.c: see softmax.h. */
#include "softmax.h"

#include <math.h>

void tt_softmax_row(const double *z, tt_size n, double *w) {
    if (n == 0) return;
    double largest = z[0];
    for (tt_size j = 1; j < n; j++)
        if (z[j] > largest) largest = z[j];
    double sum = 0;
    for (tt_size j = 0; j < n; j++) {
        w[j] = exp(z[j] - largest);
        sum += w[j];
    }
    for (tt_size j = 0; j < n; j++) w[j] /= sum;
}

void tt_softmax_row_backward(const double *w, const double *dw, tt_size n, double *dz) {
    if (n == 0) return;
    tt_size m = 0;
    for (tt_size j = 1; j < n; j++)
        if (w[j] > w[m]) m = j;
    const double shift = dw[m];
    double sum = 0; /* the term of m itself is w_m * 0 */
    for (tt_size j = 0; j < n; j++) sum += w[j] * (dw[j] - shift);
    for (tt_size j = 0; j < n; j++) dz[j] = w[j] * ((dw[j] - shift) - sum);
}
