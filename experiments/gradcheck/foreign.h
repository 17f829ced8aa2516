/* foreign.h: a verdict on someone else's backward, without C: gradients of attention dumped
 * from any framework, compared with this library's, element by element, against what the format
 * that they were computed in can hold (judge.h, bounds.h).
 */
#ifndef GRADCHECK_FOREIGN_H
#define GRADCHECK_FOREIGN_H

#include <stdbool.h>
#include <stdio.h>

#include "common/scaling.h"
#include "gradcheck/format.h"
#include "gradcheck/judge.h"

/* Of dQ, dK, dV, in this order; "" for what is not to be compared. */
typedef struct gradient_paths {
    const char *path[HEAD_GRADIENTS];
} gradient_paths;

typedef struct foreign_request {
    const head_paths *paths;
    const mask_request *mask;
    const gradient_paths *given;
    const scaling *rule;
    const number_format *format; /* NULL: the one that is found */
    double rtol;                 /* 0: none */
} foreign_request;

/* Reads Q, K, V, dO and the given gradients, and says on `table` in which format they are judged
 * and why, a line a tensor, and, where a tensor fails, what it agrees with instead. Writes a row a
 * tensor and head on `csv`. Returns EXIT_OK, and *verdict is the worst of the tensors (FAIL, then
 * INCONCLUSIVE); or another exit code after one line on standard error. */
int foreign_check(const foreign_request *r, FILE *csv, FILE *table, tt_gradcheck_verdict *verdict);

#endif
