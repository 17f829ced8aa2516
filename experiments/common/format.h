/* format.h: formats of numbers shorter than, or as long as, a double, which holds all of them. */
#ifndef COMMON_FORMAT_H
#define COMMON_FORMAT_H

#include <stdbool.h>

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

#endif
