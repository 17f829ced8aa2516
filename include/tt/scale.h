/* scale.h: how a score q.k becomes a logit. Every rule has the form
 *     Z_ij = f_i a_i b_j (q_i . k_j)
 * where the factor f_i may depend on the row's sizes, and a, b (1 without norms) divide by norms
 * through which gradients flow: 1/sqrt(d_k) is a rule (Vaswani et al. 2017, arXiv 1706.03762, eq.
 * (1)), and so are muP's 1/d_k, QK-norm's cosine and any number. Other norms need their gradient in
 * attention.c.
 */
#ifndef TT_SCALE_H
#define TT_SCALE_H

#include "tt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_norms {
    TT_NORMS_NONE,
    TT_NORMS_COSINE, /* a_i = 1/|q_i|, b_j = 1/|k_j|; of a zero vector 0: logits and gradients 0 */
    TT_NORMS_KEY_SUM /* f_i also divides by N_i = sum of |k_j| over the row's visible keys; if that
                        is 0, logits and gradients are 0 */
} tt_norms;

/* What a factor may depend on: a query of width d_k that sees `visible` of `keys` keys, 0 too. */
typedef struct tt_scale_row {
    tt_size d_k, visible, keys;
} tt_scale_row;

typedef struct tt_scale_rule {
    tt_norms norms;
    double (*factor)(tt_scale_row row); /* f_i is `number` times this; NULL: f_i is `number` */
    double number;
} tt_scale_rule;

/* f_i of a row, which must be finite for attention to accept it. */
double tt_scale_factor(const tt_scale_rule *rule, tt_scale_row row);

#ifdef __cplusplus
}
#endif

#endif
