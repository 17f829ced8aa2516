/* format.h: the format that a backward was computed in: how it is found, and how far off its sums
 * may be.
 */
#ifndef GRADCHECK_FORMAT_H
#define GRADCHECK_FORMAT_H

#include "common/format.h"
#include "tt/tensor.h"

/* The multiple of a bound B (bounds.h), beyond which no right gradient was in calibration. */
double format_multiple(const number_format *f);

/* The error of a sum of n products, in units of the sum of their sizes: a random walk's, calibrated
 * (bounds.h). */
double format_sum_error(const number_format *f, tt_size n);

/* Numbers, from one place or several. */
typedef struct number_list {
    const double *data;
    tt_size count;
} number_list;

/* The first format in the order of common/format.h, float64 left out, whose numbers all `given`
 * are, if at least four different ones but 0 are among them (a float32 is a bfloat16 number by
 * chance once in 2^16, a float16 number once in 2^13), and not all `ours` are too (as integers and
 * halves are numbers of every format); NULL if there is none. What is not finite is passed over. */
const number_format *format_detect(const number_list *given, const number_list *ours, int lists);

#endif
