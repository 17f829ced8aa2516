/* norm.h: the Euclidean norm, without underflow or overflow on the way: an instrument that measures
 * vanishing gradients must not round them to zero itself.
 */
#ifndef TT_NORM_H
#define TT_NORM_H

#include "tt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sqrt(sum x_i^2) of x[0..n-1] (for a matrix: its Frobenius norm), scaled by a power of two near
 * the largest entry, so that entries of 1e-200 or 1e200 neither vanish nor overflow; 0 for n = 0.
 * NaN gives NaN, an infinity infinity. */
double tt_norm(const double *x, tt_size n);

#ifdef __cplusplus
}
#endif

#endif
