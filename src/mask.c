#include "tt/mask.h"

#include <string.h>

bool tt_mask_is_empty(const tt_mask *mask) {
    return mask->causal == TT_CAUSAL_NONE && !mask->key_lengths && !mask->allowed;
}

/* How many keys, the first ones, causality and the entry's length leave. */
static tt_size reach(const tt_mask *mask, tt_size b, tt_size i, tt_size tq, tt_size tk) {
    tt_size n = tk;
    if (mask->causal == TT_CAUSAL_TOP_LEFT && i + 1 < n) n = i + 1;
    if (mask->causal == TT_CAUSAL_BOTTOM_RIGHT && i + 1 + tk - tq < n) n = i + 1 + tk - tq;
    if (mask->key_lengths && mask->key_lengths[b] < n) n = mask->key_lengths[b];
    return n > 0 ? n : 0;
}

bool tt_mask_allows(const tt_mask *mask, tt_size b, tt_size i, tt_size j, tt_size tq, tt_size tk) {
    if (j >= reach(mask, b, i, tq, tk)) return false;
    return !mask->allowed || mask->allowed[(b * tq + i) * tk + j];
}

tt_size tt_mask_row(const tt_mask *mask, tt_size b, tt_size i, tt_size tq, tt_size tk,
                    unsigned char *row) {
    const tt_size n = reach(mask, b, i, tq, tk);
    memset(row, 1, (size_t)n);
    memset(row + n, 0, (size_t)(tk - n));
    if (!mask->allowed) return n;
    const unsigned char *allowed = mask->allowed + (b * tq + i) * tk;
    tt_size count = 0;
    for (tt_size j = 0; j < n; j++) {
        row[j] = allowed[j] != 0;
        count += row[j];
    }
    return count;
}
