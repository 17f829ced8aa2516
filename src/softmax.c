/* softmax.c: masks, around the kernels' rows without one. A NaN is looked for nowhere: it makes the
 * sum, and so the row, NaN.
 */
#include "softmax.h"

#include <math.h>
#include <string.h>

#include "kernels.h"

/* Wide vectors only hinder where a row does not fill one. */
static const tt_kernels *kernels_for(tt_size n) {
    return n < 8 ? &tt_kernels_portable : tt_kernels_here();
}

/* What is not allowed becomes -infinity, whose weight is 0. */
void tt_softmax_row(const double *z, const unsigned char *allowed, tt_size n, double *w) {
    tt_size count = 0;
    for (tt_size j = 0; allowed && j < n; j++) {
        w[j] = allowed[j] ? z[j] : -INFINITY;
        count += allowed[j] != 0;
    }
    if (allowed && count == 0)
        memset(w, 0, (size_t)n * sizeof *w);
    else
        kernels_for(n)->softmax(allowed ? w : z, 1, n, w);
}

void tt_softmax_rows(const double *z, const unsigned char *allowed, tt_size rows, tt_size n,
                     double *w) {
    if (n == 0) return; /* however many rows */
    if (!allowed) kernels_for(n)->softmax(z, rows, n, w);
    for (tt_size r = 0; allowed && r < rows; r++)
        tt_softmax_row(z + r * n, allowed + r * n, n, w + r * n);
}

/* What is not allowed has weight 0, and so no part in the sum once its dw is a finite number. */
void tt_softmax_row_backward(const double *w, const double *dw, const unsigned char *allowed,
                             tt_size n, double *dz) {
    for (tt_size j = 0; allowed && j < n; j++) dz[j] = allowed[j] ? dw[j] : 0;
    kernels_for(n)->softmax_backward(w, allowed ? dz : dw, n, dz);
    for (tt_size j = 0; allowed && j < n; j++)
        if (!allowed[j]) dz[j] = 0;
}
