/* foreign.h: a verdict on someone else's backward, without C: gradients of attention dumped
 * from any framework, compared with this library's.
 */
#ifndef GRADCHECK_FOREIGN_H
#define GRADCHECK_FOREIGN_H

#include <stdbool.h>
#include <stdio.h>

#include "heads/head_gradients.h"

/* Of dQ, dK, dV, in this order; "" for what is not to be compared. */
typedef struct gradient_paths {
    const char *path[HEAD_GRADIENTS];
} gradient_paths;

/* Reads Q, K, V, dO and the given gradients, computes ours for every head and prints one line a
 * tensor on `table` and one row a tensor on `csv`: how many elements differ, the worst of them, and
 * the allowed error, which for an element x is
 *     rtol (|x| + largest |x| of the tensor),
 * rtol = 1e-12, 1e-5 or 1e-2 for files of float64, float32 or float16 unless given (> 0): some
 * hundred roundings of that type. Returns EXIT_OK, and *differs says whether some element does; or
 * another exit code after one line on standard error. */
int foreign_check(const head_paths *paths, const mask_request *mask, const gradient_paths *given,
                  const tt_scale_rule *rule, double rtol, FILE *csv, FILE *table, bool *differs);

#endif
