/* judge.h: a verdict on each element of a gradient that someone else computed, and what a tensor's
 * elements make of it.
 *
 *   FAIL          |given - ours| > m B, or given is not finite
 *   PASS          not so, and m B < |ours| / 2: its sign, that it is not 0, and its factor to 2 are
 *                 sure; or it is 0 by the mask alone and given as 0
 *   INCONCLUSIVE  otherwise: the format cannot hold the truth well enough to tell
 * with m = 4, or 3 for the 16-bit formats (format.h). An element that passes is confirmed to m B /
 * |ours|. Where a file has few digits, half a unit of the last is added to m B; where `rtol` is
 * given, a larger error than rtol max(|ours|, |given|) fails too.
 */
#ifndef GRADCHECK_JUDGE_H
#define GRADCHECK_JUDGE_H

#include "gradcheck/expectation.h"
#include "tt/gradcheck.h"

/* Verdicts are those of tt/gradcheck.h. `bound` is all that is allowed. */
tt_gradcheck_verdict judge_element(double ours, double given, double bound, bool idle, double rtol);

/* What was given for one gradient. */
typedef struct given_gradient {
    int which; /* HEAD_DQ, HEAD_DK or HEAD_DV */
    const array *file;
    double rtol; /* 0: none */
} given_gradient;

typedef struct tally {
    tt_size count, passed, failed, inconclusive;
    double confirmed; /* median of bound / |ours| over those that passed, nan without one */
    tt_size worst;    /* of the tensor; the largest error in units of its bound */
    double worst_bound;
} tally;

/* FAIL if an element fails, else PASS if one passes, else INCONCLUSIVE. */
tt_gradcheck_verdict tally_verdict(const tally *t);

/* Elements from `first` up to `first + count`. False without memory. */
bool judge_elements(const expectation *e, const given_gradient *given, tt_size first, tt_size count,
                    tally *out);

#endif
