/* bounds.h: how far a right gradient of attention may be off, element by element, if it was
 * computed in a given format: what someone else's gradient is judged by.
 *
 * Rounding errors of every step are carried through to the gradients to first order. A sum of
 * errors is taken as its root of squares, as for errors that know nothing of each other, AND as its
 * signed sum, as for errors that are all alike (equal rows make them so). What comes out, B, is no
 * theorem: it is calibrated (METHOD.md), and a multiple of it is the bound (format.h).
 *
 * With u, eta and c(n) of the format, (+) a root of squares, Z = s S the logits, P their softmax,
 * x_j = dP_j - sum_k P_k dP_k:
 *   eZ    the error of a logit: its sum of d_k products, the roundings of S and s S
 *   a     eZ (+) that of the subtraction of the maximum, times exp's amplification
 *   eP    P_j times the root of ((1 - P_j) a_j)^2 + sum_{k != j} (P_k a_k)^2
 *   edP   the error of a sum of d_v products; eD that of sum P dP, or of dO.O, which equals it
 *   edZ   from the derivative of dZ = P x: by the logits' errors, P's rounding, dP's and the sum's
 * and each gradient is a last sum over these. Rules with norms add the norms' errors (bounds.c).
 */
#ifndef GRADCHECK_BOUNDS_H
#define GRADCHECK_BOUNDS_H

#include "gradcheck/format.h"
#include "tt/attention.h"

/* How it was computed. */
typedef struct precision {
    const number_format *format;
    double input_unit; /* the inputs were rounded by so much of themselves first; 0: not at all */
} precision;

/* One head, all [1,T,d] but the weights' [1,Tq,Tk]: what went in, and what the tape computed. */
typedef struct bound_head {
    tt_tensor q, k, v, d_out;
    tt_tensor logits, weights, d_logits;
    tt_tensor out;
    const tt_mask *mask;
    const tt_scale_rule *rule;
} bound_head;

/* Adds B of this head's dQ, dK and dV to the tensors of their shapes: where heads share keys their
 * errors add up. False without memory. */
bool bounds_add(const bound_head *h, const precision *p, tt_tensor b_dq, tt_tensor b_dk,
                tt_tensor b_dv);

#endif
