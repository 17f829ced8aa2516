/* steps.h: the V that everyone should have seen once: error of a numeric derivative
 * against its step h, for forward, central and extrapolated differences.
 */
#ifndef GRADCHECK_STEPS_H
#define GRADCHECK_STEPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes d_k,method,h,error for scaled attention at d_k 8 and 512 (4 queries, 5 keys): the relative
 * error of dL/dQ at its largest element, L = <W, O>, against the analytic gradient. NULL, or what
 * failed. */
const char *gradcheck_steps_csv(FILE *to, uint64_t seed);

#endif
