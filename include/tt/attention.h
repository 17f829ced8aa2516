/* attention.h: scaled dot-product attention as ONE operation with its analytic backward.
 *
 *   S = Q K^T          [B,Tq,Tk]  scores
 *   Z = s S            [B,Tq,Tk]  logits: what the softmax sees
 *   P = softmax(Z)     [B,Tq,Tk]  weights, each row sums to 1
 *   O = P V            [B,Tq,dv]  output
 * Vaswani et al. 2017, "Attention Is All You Need", eq. (1), with s = 1/sqrt(d_k).
 *
 * Backward, from dO:
 *   dV = P^T dO
 *   dP = dO V^T
 *   dZ = P (dP - sum_j P_j dP_j)   row by row: through the softmax, without cancellation
 *   dQ = s dZ K
 *   dK = s dZ^T Q
 */
#ifndef TT_ATTENTION_H
#define TT_ATTENTION_H

#include "tt/tape.h"

typedef struct tt_attention_options {
    double scale; /* s; any finite number */
} tt_attention_options;

/* Q [B,Tq,d_k], K [B,Tk,d_k], V [B,Tk,d_v] -> O [B,Tq,d_v]. Errors: sizes that do not fit, a scale
 * that is not finite, a foreign variable, no memory. */
tt_var tt_attention(tt_tape *tape, tt_var q, tt_var k, tt_var v, tt_attention_options options);

/* What the operation computed on the way, views [B,Tq,Tk] into the tape; data is NULL for a
 * variable that tt_attention did not make. The gradient of the logits is that of the last backward
 * (undefined before any). */
tt_tensor tt_attention_logits(const tt_tape *tape, tt_var output);
tt_tensor tt_attention_weights(const tt_tape *tape, tt_var output);
tt_tensor tt_attention_logits_grad(const tt_tape *tape, tt_var output);

#endif
