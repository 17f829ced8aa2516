/* scaling.h: the scaling rules by name, the one list of them. A new rule is a row of the table in
 * scaling.c (and its test); what help and errors say of it comes from there.
 */
#ifndef COMMON_SCALING_H
#define COMMON_SCALING_H

#include <stdbool.h>

#include "tt/scale.h"

typedef struct scaling {
    const char *name;
    const char *formula; /* of the logits */
    const char *source;
    tt_scale_rule rule;
    double (*logit_step)(tt_size d_k); /* f^2 d_k, where it is simpler than that; else NULL */
    /* What the rule multiplies the first query projection by, where the scale sits in the
     * initialisation; NULL: 1. */
    double (*query_gain)(tt_size d_k);
} scaling;

/* The i-th rule, or NULL from their count up. The table is constant. */
const scaling *scaling_at(int i);

/* Its name, or NULL: a word_list. */
const char *scaling_name(int i);

/* The rule of that name, or NULL. */
const scaling *scaling_find(const char *name);

/* The rule "multiply by this number". `name` and `formula` are borrowed. */
scaling scaling_number(const char *name, const char *formula, double number);

/* A rule whose logits are `number` times those of `rule`. `name` and `formula` are borrowed. */
scaling scaling_times(const char *name, const char *formula, const scaling *rule, double number);

/* Whether the logits are q.k times one factor, the same in every row that sees so many keys. */
bool scaling_is_constant(const scaling *s);

/* |f|, that factor, for rows that see all of n keys; nan for rules that divide by norms. */
double scaling_factor(const scaling *s, tt_size d_k, tt_size n);

/* f^2 d_k: how far a gradient step of size 1 moves the logits of random q and k; nan likewise. */
double scaling_logit_step(const scaling *s, tt_size d_k, tt_size n);

double scaling_query_gain(const scaling *s, tt_size d_k);

#endif
