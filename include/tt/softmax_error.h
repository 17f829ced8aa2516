/* softmax_error.h: how far attention would be off at another factor on its logits, without a tape:
 * what a search for the best factor asks dozens of times.
 */
#ifndef TT_SOFTMAX_ERROR_H
#define TT_SOFTMAX_ERROR_H

#include "tt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Mean over all entries of (softmax(factor Z) V - Y)^2, with Z [B,Tq,Tk], V [B,Tk,d], Y [B,Tq,d],
 * all borrowed; 0 if there are none. The bits are those of tt_mul_scalar, tt_softmax, tt_matmul and
 * tt_mse (tt/ops.h). Scratch for tt_softmax_error_scratch(Z, V) doubles. */
double tt_softmax_error(tt_tensor z, double factor, tt_tensor v, tt_tensor y, double *scratch);
tt_size tt_softmax_error_scratch(tt_tensor z, tt_tensor v);

#ifdef __cplusplus
}
#endif

#endif
