/* scale.h: the table of scaling rules: how q.k becomes a logit.
 *
 * Every rule has the form
 *     Z_ij = f_i a_i b_j (q_i . k_j)
 * where f_i is a factor that may depend on d_k and on the number of keys, and a, b (1 for most
 * rules) divide by norms through which gradients flow. A new rule of known norms is one entry in
 * scale.c; new norms need their gradient there too, and every rule a test.
 */
#ifndef TT_SCALE_H
#define TT_SCALE_H

#include <stdbool.h>

#include "tt/tensor.h"

typedef enum tt_norms {
    TT_NORMS_NONE,
    TT_NORMS_COSINE, /* a_i = 1/|q_i|, b_j = 1/|k_j|; a zero vector gets 0: logits and gradients 0
                      */
    TT_NORMS_KEY_SUM /* f_i also divides by N_i = sum of |k_j| over the row's visible keys; if that
                        is 0, logits and gradients are 0 */
} tt_norms;

typedef struct tt_scale_rule tt_scale_rule;
struct tt_scale_rule {
    const char *name;
    const char *formula; /* of the logits */
    const char *source;
    tt_norms norms;
    /* f_i for a row with `visible` of `keys` keys. */
    double (*factor)(const tt_scale_rule *rule, tt_size d_k, tt_size visible, tt_size keys);
    /* f^2 d_k in closed form, for rules with a constant factor and no norms; else NULL. A gradient
     * step of size lr moves the logits of random q.k by lr f^2 d_k. */
    double (*squared)(const tt_scale_rule *rule, tt_size d_k);
    /* What the rule multiplies the first query projection by, where the scale sits in the
     * initialisation; NULL: 1. */
    double (*query_gain)(tt_size d_k);
    double number; /* the factor of a rule made by tt_scale_number */
};

/* All named rules; *count is set. The table is constant. */
const tt_scale_rule *tt_scale_rules(int *count);

/* The rule of that name, or NULL. */
const tt_scale_rule *tt_scale_find(const char *name);

/* The rule "multiply by this number". `name` is borrowed as the rule's name. */
tt_scale_rule tt_scale_number(const char *name, double number);

#endif
