/* strip.h: a few rows of a head under every rule, with the bits of tt_attention. What is measured
 * of a row needs that row alone, so no matrix [Tq,Tk] is kept: memory grows with the keys only. S =
 * Q K^T serves all rules, and keys that no row of the strip sees are left out.
 */
#ifndef INSPECT_STRIP_H
#define INSPECT_STRIP_H

#include "heads/head_files.h"
#include "heads/head_stats.h"
#include "inspect/rules.h"

enum { STRIP_ROWS = 32 };

/* A head at work. */
typedef struct strip_head {
    attention_head at;
    const inspect_rules *rules;
    double *key_norm,
        *key_factor;    /* [Tk] |k_j| and the cosine's b_j = 1/|k_j|, 0 where that is 0 */
    measured_row *rows; /* [rules][Tq], but nothing for a rule that is like another */
    double *weights; /* [Tq,Tk], zeros at first: gets the weights under the rule in use; or NULL */
} strip_head;

/* Sets key_norm and key_factor, to be done before any strip. */
void strip_set_keys(const strip_head *head);

/* Measures the rows from `first` on, STRIP_ROWS of them or those that are left. Strips of a head
 * are independent. False without memory. */
bool strip_measure(const strip_head *head, tt_size first);

/* Bytes that this takes for so many keys. */
double strip_bytes(tt_size keys);

#endif
