/* scale_rules.h: the table of scaling rules, by the names used on the command line and in every
 * CSV. A rule turns q.k into a logit.
 */
#ifndef SCALE_RULES_H
#define SCALE_RULES_H

#include "tt/tensor.h"

typedef struct scale_rule {
    const char *name;
    const char *formula; /* the logits */
    const char *source;
    double (*factor)(tt_size d_k);     /* s, by which q.k is multiplied */
    double (*logit_gain)(tt_size d_k); /* s^2 d_k: what a step of lr moves the logits by, over lr */
} scale_rule;

/* All rules, in the order in which help lists them; *count is set. */
const scale_rule *scale_rules(int *count);

/* The rule of that name, or NULL. */
const scale_rule *scale_rule_find(const char *name);

#endif
