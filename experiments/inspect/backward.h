/* backward.h: what `sqrtdk inspect` measures of a layer's gradients, all heads taken together: how
 * large they are, from the dO of a model, and how far off low precision computes dZ, the gradient
 * of the logits (heads/precision.h). dO, where the files have none, is standard normal.
 *
 * Rows are those that see two keys: of others dZ is 0 whatever the logits are.
 */
#ifndef INSPECT_BACKWARD_H
#define INSPECT_BACKWARD_H

#include <stdint.h>

#include "heads/head_files.h"
#include "heads/precision.h"
#include "tt/scale.h"

/* bfloat16, float16, float32 */
enum { BACKWARD_FORMATS = 3 };

typedef enum signal_stat {
    SIGNAL_DZ_P10, /* norm of a row of dZ, quantiles over the rows */
    SIGNAL_DZ_MEDIAN,
    SIGNAL_DZ_P90,
    SIGNAL_CARRIERS, /* the least share of the rows whose |dZ|^2 make 90 % of the sum */
    SIGNAL_DQ_NORM,  /* Frobenius, and over the root of the number of entries */
    SIGNAL_DQ_RMS,
    SIGNAL_DK_NORM,
    SIGNAL_DK_RMS,
    SIGNAL_STATS
} signal_stat;

/* By signal_stat, or NULL from their count up. */
const char *signal_stat_name(int i);

typedef struct layer_backward {
    const char *name; /* borrowed */
    bool given;       /* dO is the files' */
    bool rounded;     /* the errors were asked for */
    tt_size rows;     /* if 0, all else but dQ and dK is NaN */
    double signal[SIGNAL_STATS];
    double error[BACKWARD_FORMATS][PRECISION_PIPELINES][ROUNDING_STATS];
} layer_backward;

/* Measures the files, which have V. Returns EXIT_OK; or EXIT_FAILED after one line, also where a
 * gradient is beyond the range of a double. */
int layer_backward_measure(const char *name, const head_files *f, const tt_scale_rule *rule,
                           uint64_t seed, bool rounded, layer_backward *out);

#endif
