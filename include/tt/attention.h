/* attention.h: scaled dot-product attention as ONE operation with its analytic backward.
 *
 *   S = Q K^T          [B,Tq,Tk]  scores
 *   Z = scale rule(S)  [B,Tq,Tk]  logits, what the softmax sees: S / sqrt(d_k), or another rule
 *   P = softmax(Z)     [B,Tq,Tk]  weights: each row sums to 1 over the keys it may attend to
 *   O = P V            [B,Tq,dv]  output
 * Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762, eq. (1).
 *
 * Backward, from dO:
 *   dV = P^T dO
 *   dP = dO V^T
 *   dZ = P (dP - sum_j P_j dP_j)   row by row: through the softmax, without cancellation
 *   dS = dZ times the rule's factor
 *   dtau = sum of dZ Z             where the logits have a learned factor exp(tau)
 *   dQ = dS K,  dK = dS^T Q        plus, for rules that divide by norms, the gradient through these
 *
 * Masks. A masked weight is exactly 0 and its logit means nothing. A key that is masked for every
 * query of its batch entry may hold anything in K and V, NaN and infinities too: it influences
 * nothing, and its dK and dV are 0. A key masked for some queries must be finite. A query without
 * any key has weights, output and gradients 0. The softmax's maximum is taken over allowed keys;
 * nothing stands in for minus infinity.
 */
#ifndef TT_ATTENTION_H
#define TT_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "tt/mask.h"
#include "tt/scale.h"
#include "tt/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of tt_attention_options: all of them, and the most logits of an entry that are held
 * where nothing is said: 32 MB a matrix. */
#define TT_ATTENTION_ALL PTRDIFF_MAX
enum { TT_ATTENTION_KEPT = 1 << 22 };

typedef struct tt_attention_options {
    double scale;              /* the number that multiplies Q K^T, finite and not 0; or */
    const tt_scale_rule *rule; /* a rule, where not NULL (the number 0 too); used during the call
                                  only */
    const tt_var *logit_scale; /* tau [1,1,1] of this tape: every logit is multiplied by exp(tau), a
                                  learned temperature (as CLIP's, arXiv 2103.00020, fig. 3); NULL:
                                  not; used during the call only */
    tt_mask mask;              /* the zero value masks nothing; borrowed until reset */
    tt_size rows;              /* how many queries' logits and weights are held at a time: if fewer
                                  than Tq, memory grows with T, not T^2, backward computes them
                                  again, and there is nothing to look at afterwards; the results
                                  have the same bits (rules that divide by norms: the same to
                                  rounding). TT_ATTENTION_ALL: all; 0: all up to
                                  TT_ATTENTION_KEPT logits of an entry, else as many as the
                                  cache holds */
} tt_attention_options;

/* Q [B,Tq,d_k], K [B,Tk,d_k], V [B,Tk,d_v] -> O [B,Tq,d_v]. Errors: sizes that do not fit, no
 * scale, a factor that is not finite, a logit_scale that is not one number, rows below 0, a foreign
 * variable, no memory. */
tt_var tt_attention(tt_tape *tape, tt_var q, tt_var k, tt_var v, tt_attention_options options);

/* What the operation computed on the way, views [B,Tq,Tk] into the tape; data is NULL where not all
 * rows are held, and for a variable that tt_attention did not make. The gradient of the logits is
 * that of the last backward (undefined before any). */
tt_tensor tt_attention_logits(const tt_tape *tape, tt_var output);
tt_tensor tt_attention_weights(const tt_tape *tape, tt_var output);
tt_tensor tt_attention_logits_grad(const tt_tape *tape, tt_var output);

/* The tangent (forward mode): how the logits change, to first order, when Q, K and tau change:
 *   dZ = exp(tau) f a b (dQ K^T + Q dK^T) + Z dtau, and through the rule's norms
 * with f a b the factors of tt/scale.h. dq [B,Tq,d_k] and dk [B,Tk,d_k] are the changes; dz
 * [B,Tq,Tk], the caller's, is overwritten, 0 where masked. It is the adjoint of backward:
 * sum dZ_tangent dZ_gradient = sum dQ_change dQ_gradient + the same of K + dtau its gradient. False
 * for a variable that tt_attention did not make. */
bool tt_attention_tangent(const tt_tape *tape, tt_var output, tt_tensor dq, tt_tensor dk,
                          double dtau, tt_tensor dz);

#ifdef __cplusplus
}
#endif

#endif
