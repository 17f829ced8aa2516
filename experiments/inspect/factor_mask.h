/* factor_mask.h: the mask that weights were made under, found from which of them are 0. */
#ifndef INSPECT_FACTOR_MASK_H
#define INSPECT_FACTOR_MASK_H

#include "tt/mask.h"

/* What a weight says of its key. */
enum { KEY_HIDDEN = -1, KEY_UNSURE, KEY_VISIBLE }; /* unsure: a 0 that underflow explains */

/* Of the masks that contradict no weight the one that hides least. */
typedef struct factor_mask {
    bool known, given, own; /* given: that of the options; own: none of the kinds below */
    tt_causal causal;
    tt_size window;         /* a query sees that many keys up to its place; 0: all */
    tt_size first, last;    /* only keys first .. last - 1 are seen by any */
    tt_size queries, keys;  /* sizes */
    tt_size hidden, unsure; /* how many weights say so */
} factor_mask;

/* From state[queries,keys]. */
factor_mask factor_mask_find(const signed char *state, tt_size queries, tt_size keys);

/* Whether it allows this. */
bool factor_mask_allows(const factor_mask *m, tt_size query, tt_size key);

bool factor_mask_equal(const factor_mask *a, const factor_mask *b);

/* "none", "causal", "causal-bottom-right, window of 16 keys", "own, 5 of 64 weights hidden";
 * returns the buffer. */
enum { FACTOR_MASK_BYTES = 128 };
const char *factor_mask_text(char text[FACTOR_MASK_BYTES], const factor_mask *m);

#endif
