/* factor_output.h: the factor found from what attention gave out, O = softmax(t x) V, where the
 * weights are not at hand: least squares over t, under a mask that must be known or tried.
 */
#ifndef INSPECT_FACTOR_OUTPUT_H
#define INSPECT_FACTOR_OUTPUT_H

#include "inspect/factor.h"

/* Of a long head so many rows do: those of factor_logits_query. */
enum { FACTOR_OUTPUT_ROWS = 128 };

/* Fits t > 0 to the outputs o [Tq,d_v] of a head whose logits l are at t = 1, and judges it; leaves
 * the fit's rule and mask alone. t is looked for from `least` to `most`. Rows that see no key, or
 * whose output is not finite, take no part. False without memory. */
bool factor_fit_output(const factor_logits *l, const factor_given *given,
                       const attention_head *head, const tt_mask *mask, const double *o,
                       double least, double most, factor_fit *out);

#endif
