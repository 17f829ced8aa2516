/* factor_number.h: which number is this factor? */
#ifndef INSPECT_FACTOR_NUMBER_H
#define INSPECT_FACTOR_NUMBER_H

#include "heads/head_files.h"

/* A number that models multiply by, on purpose or by mistake. */
typedef struct factor_number {
    const char *name; /* in a CSV */
    double value;
    char formula[48];    /* "1/sqrt(64)" */
    const char *meaning; /* goes on after it */
    bool intended;       /* none or sqrt */
} factor_number;

enum { FACTOR_NUMBERS_MOST = 12 };

typedef struct factor_numbers {
    factor_number of[FACTOR_NUMBERS_MOST];
    int count;
    tt_size d_k;
} factor_numbers;

/* For these sizes; d_model is a width to try too, or 0. */
void factor_numbers_set(factor_numbers *n, const head_files *f, tt_size d_model);

/* A bar that is wider than this part of the factor may hold a number by chance. */
#define FACTOR_NUMBER_CHANCE 1e-3

/* Those within `error` of the factor, or within one unit `rounding` of themselves, in the order of
 * their table; of one intended its equals are left out. Returns how many. */
int factor_numbers_match(const factor_numbers *n, double factor, double error, double rounding,
                         const factor_number *found[FACTOR_NUMBERS_MOST]);

#endif
