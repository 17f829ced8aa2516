/* format.h: the formats of numbers that a backward may have been computed in. */
#ifndef GRADCHECK_FORMAT_H
#define GRADCHECK_FORMAT_H

#include <stdbool.h>

#include "tt/tensor.h"

typedef struct number_format {
    const char *name;
    int bits;         /* of the significand, the leading one counted */
    int least;        /* 2^least is the smallest normal number */
    double most;      /* the largest */
    double unit;      /* u: one rounding errs by u of the result at most; 2^-bits */
    double underflow; /* or by this, half the smallest subnormal (float64: that number) */
    bool wide_sums;   /* products are added up in float32 */
    double
        multiple; /* of a bound B (bounds.h), beyond which no right gradient was in calibration */
} number_format;

/* "bfloat16", "float16", "float32", "float64": the i-th, or NULL; by name, or NULL. */
const number_format *format_at(int i);
const char *format_name(int i);
const number_format *format_find(const char *name);

/* Whether x is one of the format's numbers. */
bool format_holds(const number_format *f, double x);

/* The error of a sum of n products, in units of the sum of their sizes: a random walk's, calibrated
 * (bounds.h). */
double format_sum_error(const number_format *f, tt_size n);

/* Numbers, from one place or several. */
typedef struct number_list {
    const double *data;
    tt_size count;
} number_list;

/* The first format in the order above, float64 left out, whose numbers all `given` are, if at least
 * four different ones but 0 are among them (a float32 is a bfloat16 number by chance once in 2^16,
 * a float16 number once in 2^13), and not all `ours` are too (as integers and halves are numbers of
 * every format); NULL if there is none. What is not finite is passed over. */
const number_format *format_detect(const number_list *given, const number_list *ours, int lists);

#endif
