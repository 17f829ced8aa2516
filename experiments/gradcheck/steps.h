/* steps.h: the V that everyone should have seen once: error of a numeric derivative
 * against its step h, for forward, central and extrapolated differences.
 */
#ifndef GRADCHECK_STEPS_H
#define GRADCHECK_STEPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes d_k,scale,method,h,error,bar for attention (4 queries, 5 keys), scaled at d_k 8 and
 * saturated, without the scale, at d_k 512: the relative error of dL/dQ at the largest of a few of
 * its elements, L = <W, O>, against the analytic gradient; and two rows `plateau` with the smallest
 * and the largest step from which tt_gradcheck makes its value, its error and its bar. NULL, or
 * what failed. */
const char *gradcheck_steps_csv(FILE *to, uint64_t seed);

#endif
