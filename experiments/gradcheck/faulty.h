/* faulty.h: attention with a backward that is wrong on purpose, to show that the gradient
 * check sees it. Plain loops over one batch entry at a time, as someone writes them who derives the
 * backward pass for the first time; built with tt_custom like any operation of a user's own.
 */
#ifndef GRADCHECK_FAULTY_H
#define GRADCHECK_FAULTY_H

#include <stdbool.h>

#include "tt/tape.h"

typedef enum fault {
    FAULT_NONE,           /* the right backward */
    FAULT_FLIPPED_SIGN,   /* dQ has the wrong sign: passes a check of absolute values */
    FAULT_MISSING_SCALE,  /* dQ and dK lack the factor s */
    FAULT_MISSING_SUM,    /* dZ = P dP, without - P sum_j P_j dP_j */
    FAULT_SWAPPED,        /* dQ is given to K and dK to Q */
    FAULT_MASK_FORGOTTEN, /* backward takes the weights of an unmasked softmax */
    FAULTS
} fault;

/* By fault, or NULL from their count up: a word_list. */
const char *fault_name(int i);

/* Causal (top-left) attention softmax(s Q K^T) V of Q, K [B,T,d_k] and V [B,T,d_v]. The scale must
 * be finite; a wrong shape is the tape's error. */
tt_var faulty_attention(tt_tape *tape, tt_var q, tt_var k, tt_var v, double scale, fault f);

#endif
