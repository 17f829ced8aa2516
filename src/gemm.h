/* gemm.h: the matrix product under every op, inside the library only.
 *
 * Without the scale, training is chaotic: a rounding of 1e-16 becomes a difference of order 1
 * within 20 steps. So every element here is ONE chain of fused multiply-adds over k, in order:
 *     c = fma(a[i][0], b[0][j], c); c = fma(a[i][1], b[1][j], c); ...
 * starting from 0, or from c when it accumulates. No blocking, vector width or split of the work
 * over threads can change a bit of it.
 */
#ifndef TT_GEMM_H
#define TT_GEMM_H

#include <stdbool.h>

#include "tt/tensor.h"

typedef enum tt_gemm_form {
    TT_GEMM_NN, /* C = A B      A [m, k], B [k, n] */
    TT_GEMM_NT, /* C = A B^T    A [m, k], B [n, k] */
    TT_GEMM_TN  /* C = A^T B    A [k, m], B [k, n] */
} tt_gemm_form;

/* C [m, n] = product, or C += product where accumulate is true. All matrices are row-major without
 * gaps and borrowed for the call; C overlaps neither A nor B. Sizes may be 0. */
void tt_gemm(tt_gemm_form form, tt_size m, tt_size n, tt_size k, const double *a, const double *b,
             double *c, bool accumulate);

#endif
