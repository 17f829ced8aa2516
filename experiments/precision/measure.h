/* measure.h: what low precision loses in the gradient of the logits, at step 0 of the stall
 * experiment: 32 sequences of 16 tokens, d_model = d_v = 32.
 *
 * Q and K are the student's, V is the values' rounded to the format, Y the target with these V,
 * O = softmax(Z) V, and dO = O - Y rounded to the format: the gradient of half the squared error.
 * (The loss is its mean, which is a factor; left out, as loss scaling does, it cannot underflow.)
 * dZ in float64 from these V and dO is the truth, so that no error of the inputs is counted.
 */
#ifndef PRECISION_MEASURE_H
#define PRECISION_MEASURE_H

#include <stdint.h>

#include "common/format.h"
#include "common/progress.h"
#include "common/scaling.h"
#include "heads/precision.h"

typedef struct rounding_config {
    const int64_t *seed, *d_k;
    const scaling *const *scale;
    const number_format *const *format;
    int seed_count, d_k_count, scale_count, format_count;
} rounding_config;

typedef struct rounding_cell {
    int64_t seed, d_k;
    const scaling *scale;
    const number_format *format;
    double of[PRECISION_PIPELINES][ROUNDING_STATS];
} rounding_cell;

typedef struct rounding {
    rounding_config config;
    rounding_cell *cells; /* nested as seed, d_k, scale, format, each in the order given */
    tt_size count;
} rounding;

/* Lays out the cells; what the config points to is borrowed. False without memory. Free with
 * rounding_free. */
bool rounding_new(rounding *r, const rounding_config *config);
void rounding_free(rounding *r);

rounding_cell *rounding_at(const rounding *r, int seed, int d_k, int scale, int format);

/* Measures everything. NULL, or what failed: no memory, or logits that are not finite. */
const char *rounding_measure(rounding *r, progress *p);

/* Bytes that the widest cell needs; an upper bound. */
double rounding_bytes(const rounding_config *config);

#endif
