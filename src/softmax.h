/* softmax.h: one row of softmax, forward and backward, inside the library only: the softmax op, the
 * attention op and softmax_error stand on it, so that all have the same bits.
 */
#ifndef TT_SOFTMAX_H
#define TT_SOFTMAX_H

#include "tt/tensor.h"

/* w_j = exp(z_j - max z) / sum_k exp(z_k - max z), j = 0..n-1, maximum and sum over the allowed j
 * (allowed[j] != 0; NULL: all). Other weights are exactly 0, and the z there may be anything. A row
 * with nothing allowed is all 0. w may be z. Finite z of any size gives weights that sum to 1
 * within rounding; an allowed NaN or +inf gives NaN. */
void tt_softmax_row(const double *z, const unsigned char *allowed, tt_size n, double *w);

/* The same for [rows,n]. */
void tt_softmax_rows(const double *z, const unsigned char *allowed, tt_size rows, tt_size n,
                     double *w);

/* dz = J^T dw, J = diag(w) - w w^T: the gradient of the row's logits from that of its weights.
 *
 * The textbook form w_i (dw_i - sum_j w_j dw_j) cancels in a saturated row: with one weight next to
 * 1 the sum is that row's own dw, and a gradient of 1e-17 comes out as 0. Weights sum to 1, so dw
 * may be shifted by any constant first; shifted by dw_m of the largest weight w_m,
 *     dz_i = w_i (x_i - sum_{j != m} w_j x_j),   x_j = dw_j - dw_m,
 * the large weight drops out of the sum and nothing cancels. Where not allowed, dz is exactly 0 and
 * dw may be anything. dz may be dw. */
void tt_softmax_row_backward(const double *w, const double *dw, const unsigned char *allowed,
                             tt_size n, double *dz);

#endif
