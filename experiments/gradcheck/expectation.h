/* expectation.h: what a right backward gives for the files at hand: our gradients, and how far
 * another's may be off (bounds.h).
 */
#ifndef GRADCHECK_EXPECTATION_H
#define GRADCHECK_EXPECTATION_H

#include "gradcheck/bounds.h"
#include "heads/head_gradients.h"

typedef struct expectation {
    head_gradients ours;
    tt_tensor bound[HEAD_GRADIENTS];     /* B, of the shapes of ours */
    double multiple;                     /* of B, which is allowed */
    unsigned char *idle[HEAD_GRADIENTS]; /* of each row: whether it is 0 whatever the numbers are */
} expectation;

/* Computes all. False, after one line on standard error, without memory or where the tape refuses.
 * Free with expectation_free in any case. */
bool expectation_new(expectation *e, const head_files *f, const tt_scale_rule *rule,
                     const precision *p);
void expectation_free(expectation *e);

#endif
