/* format.h: how far off a backward is that was computed in a format (common/format.h). */
#ifndef GRADCHECK_FORMAT_H
#define GRADCHECK_FORMAT_H

#include "common/format.h"
#include "tt/tensor.h"

/* The multiple of a bound B (bounds.h), beyond which no right gradient was in calibration. */
double format_multiple(const number_format *f);

/* The error of a sum of n products, in units of the sum of their sizes: a random walk's, calibrated
 * (bounds.h). */
double format_sum_error(const number_format *f, tt_size n);

#endif
