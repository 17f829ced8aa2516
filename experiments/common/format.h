/* format.h: formats of numbers shorter than, or as long as, a double, which holds all of them, and
 * how numbers tell which of them they are in. */
#ifndef COMMON_FORMAT_H
#define COMMON_FORMAT_H

#include <stdbool.h>

#include "tt/tensor.h"

typedef struct number_format {
    const char *name;
    int bits;         /* of the significand, the leading one counted */
    int least;        /* 2^least is the smallest normal number */
    double most;      /* the largest */
    double unit;      /* u: one rounding errs by u of the result at most; 2^-bits */
    double underflow; /* or by this, half the smallest subnormal (float64: that number) */
} number_format;

/* "bfloat16", "float16", "float32", "float64": the i-th, or NULL; by name, or NULL. */
const number_format *format_at(int i);
const char *format_name(int i);
const number_format *format_find(const char *name);

/* Whether x is one of the format's numbers. */
bool format_holds(const number_format *f, double x);

/* The nearest of the format's numbers, of two as near the one whose last bit is 0; infinite from
 * half a unit of the last place beyond the largest on. The sign stays, a zero's and a NaN too. */
double format_round(const number_format *f, double x);

/* Numbers, from one place or several. */
typedef struct number_list {
    const double *data;
    tt_size count;
} number_list;

/* The first format in the order of their list, float64 left out, whose numbers all `given`
 * are, if at least four different ones but 0 are among them (a float32 is a bfloat16 number by
 * chance once in 2^16, a float16 number once in 2^13), and not all `ours` are too (as integers and
 * halves are numbers of every format); NULL if there is none. What is not finite is passed over. */
const number_format *format_detect(const number_list *given, const number_list *ours, int lists);

#endif
