/* factor_logits.h: the logits of a head at factor 1, plain products q.k or another rule's, and how
 * much a format's rounding can move them.
 */
#ifndef INSPECT_FACTOR_LOGITS_H
#define INSPECT_FACTOR_LOGITS_H

#include "common/format.h"
#include "common/scaling.h"
#include "heads/head_files.h"

/* Some rows of a head. */
typedef struct factor_logits {
    tt_size rows, keys, d_k, queries;
    double *x;          /* [rows,keys] the logits */
    double *squares;    /* [rows,keys] sum of the squares of the products that x is the sum of */
    double *key_norm;   /* [keys] |k_j| */
    unsigned char *may; /* [keys], scratch */
} factor_logits;

/* The query that row r stands for: all of them, or every so many up to the last. */
tt_size factor_logits_query(const factor_logits *l, tt_size row);

/* Room for up to `most` rows. False without memory. Free with factor_logits_free in any case. */
bool factor_logits_new(factor_logits *l, const attention_head *head, tt_size most);
void factor_logits_free(factor_logits *l);

/* Sets them to plain products. */
void factor_logits_plain(factor_logits *l, const attention_head *head);

/* Sets them, of equal size, to those of a rule under a mask, from plain ones. */
void factor_logits_of_rule(factor_logits *l, const factor_logits *plain, const attention_head *head,
                           const tt_scale_rule *rule, const tt_mask *mask);

/* What one rounding of a logit is: the variance of a logit t x is this times t^2 (x^2 + squares).
 * `format` is what logits are rounded to; sums of d_k products are float32's, or float64's for that
 * format, and their partial sums walk at random or straight, so that d_k/3 of each square is the
 * variance of their roundings at most. */
double factor_logit_noise(const number_format *format, tt_size d_k);

#endif
