/* diagnosis.h: what a gradient that failed agrees with instead, where one slip explains all of it.
 */
#ifndef GRADCHECK_DIAGNOSIS_H
#define GRADCHECK_DIAGNOSIS_H

#include <stdio.h>

#include "common/scaling.h"
#include "gradcheck/judge.h"

/* A line on `table` for each slip after which, in tensors of `file` (data NULL: not given) that
 * fail, no element fails any more and one passes: a narrower format, another mask or scaling rule,
 * a factor, a transposed matrix, heads after rows or in another order, a softmax backward without
 * its sum. */
void diagnose(const head_files *f, const scaling *rule, const precision *p, const array *file,
              const expectation *e, FILE *table);

#endif
