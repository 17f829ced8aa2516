/* ops.h: the elementary operations on a tape. Each returns a new variable, or what is no variable
 * after an error (a wrong shape, a foreign variable, no memory), which the tape keeps. dX is the
 * gradient of the final scalar with respect to X.
 */
#ifndef TT_OPS_H
#define TT_OPS_H

#include "tt/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C = A B        A [B,m,k], B [B,k,n] or [1,k,n] (one matrix for the whole batch) -> [B,m,n]
 * dA = dC B^T,  dB = A^T dC (summed over the batch where B is one matrix) */
tt_var tt_matmul(tt_tape *tape, tt_var a, tt_var b);

/* C = A B^T      A [B,m,k], B [B,n,k] or [1,n,k] -> [B,m,n]
 * dA = dC B,    dB = dC^T A (summed over the batch where B is one matrix) */
tt_var tt_matmul_nt(tt_tape *tape, tt_var a, tt_var b);

/* C = A + B      same shape.   dA = dC, dB = dC */
tt_var tt_add(tt_tape *tape, tt_var a, tt_var b);

/* C = s A        any shape, s finite.   dA = s dC */
tt_var tt_mul_scalar(tt_tape *tape, tt_var a, double s);

/* W = softmax of each row of Z, any shape; dZ = W (dW - sum_j W_j dW_j), computed without
 * cancellation in saturated rows (the largest weight's dW is subtracted first). */
tt_var tt_softmax(tt_tape *tape, tt_var z);

/* L = mean over all elements of (A - B)^2, same shape -> [1,1,1]; 0 for no elements.
 * dA = 2 (A - B) / count dL,  dB = -dA */
tt_var tt_mse(tt_tape *tape, tt_var a, tt_var b);

/* L = <W, A> = sum over all elements of W A -> [1,1,1]; W, of A's shape, is borrowed until reset.
 * dA = W dL */
tt_var tt_dot(tt_tape *tape, tt_var a, tt_tensor w);

#ifdef __cplusplus
}
#endif

#endif
