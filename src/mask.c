#include "tt/mask.h"

bool tt_mask_is_empty(const tt_mask *mask) {
    return mask->causal == TT_CAUSAL_NONE && !mask->key_lengths && !mask->allowed;
}

bool tt_mask_allows(const tt_mask *mask, tt_size b, tt_size i, tt_size j, tt_size tq, tt_size tk) {
    if (mask->causal == TT_CAUSAL_TOP_LEFT && j > i) return false;
    if (mask->causal == TT_CAUSAL_BOTTOM_RIGHT && j > i + tk - tq) return false;
    if (mask->key_lengths && j >= mask->key_lengths[b]) return false;
    return !mask->allowed || mask->allowed[(b * tq + i) * tk + j];
}
