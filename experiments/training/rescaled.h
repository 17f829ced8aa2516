/* rescaled.h: how well a student would do if its logits were multiplied by the one best scalar:
 * what tells a student that looks at the wrong keys from one that is only too sharp or too flat.
 */
#ifndef TRAINING_RESCALED_H
#define TRAINING_RESCALED_H

#include "tt/tape.h"

/* The least mean squared error of softmax(logits) values to the target, all of one batch, over
 * factors 0 (which is `uniform`, the loss of not attending) and 2^-8.5 to 2^10.5: every octave that
 * is no worse than its neighbours, and from there Brent's method over the logarithm of the factor
 * (R. Brent, Algorithms for Minimization without Derivatives, 1973, chapter 5). The tape is
 * scratch; after an error that it has, the result means nothing. */
double rescaled_loss(tt_tape *tape, tt_tensor logits, tt_tensor values, tt_tensor target,
                     double uniform);

#endif
