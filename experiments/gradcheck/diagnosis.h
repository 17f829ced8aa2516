/* diagnosis.h: what a gradient that failed agrees with instead, where one slip explains all of it.
 */
#ifndef GRADCHECK_DIAGNOSIS_H
#define GRADCHECK_DIAGNOSIS_H

#include <stdio.h>

#include "common/scaling.h"
#include "gradcheck/judge.h"

/* For each tensor of `file` (data NULL: not given) that fails, a line on `table` for each slip
 * after which no element fails any more and one passes: another mask or scaling rule, a factor, a
 * transposed matrix, heads in another order, a softmax backward without its sum. */
void diagnose(const head_files *f, const scaling *rule, const precision *p, const array *file,
              const expectation *e, FILE *table);

#endif
