/* mask.h: which query may attend to which key.
 *
 * Query i of batch entry b may attend to key j if ALL three parts allow it. The zero value of the
 * struct masks nothing.
 */
#ifndef TT_MASK_H
#define TT_MASK_H

#include <stdbool.h>

#include "tt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_causal {
    TT_CAUSAL_NONE,
    TT_CAUSAL_TOP_LEFT,    /* j <= i: query i stands at key i, counted from the first */
    TT_CAUSAL_BOTTOM_RIGHT /* j <= i + Tk - Tq: the last query stands at the last key, as in
                              decoding with a key cache. Equal to top-left where Tq = Tk. */
} tt_causal;

typedef struct tt_mask {
    tt_causal causal;
    const tt_size *key_lengths;   /* [B]: keys 0 .. length-1 are allowed; NULL: all */
    const unsigned char *allowed; /* [B,Tq,Tk], 0 = masked; NULL: all */
} tt_mask;

/* Whether anything can be masked at all. */
bool tt_mask_is_empty(const tt_mask *mask);

/* Whether query i of entry b may attend to key j, of Tq queries and Tk keys. */
bool tt_mask_allows(const tt_mask *mask, tt_size b, tt_size i, tt_size j, tt_size tq, tt_size tk);

/* The same of all keys: row[Tk] becomes 1 where query i of entry b may attend, else 0. Returns how
 * many it may. */
tt_size tt_mask_row(const tt_mask *mask, tt_size b, tt_size i, tt_size tq, tt_size tk,
                    unsigned char *row);

#ifdef __cplusplus
}
#endif

#endif
