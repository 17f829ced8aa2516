/* optim.h: steps that change parameters by their gradients. Parameters and gradients belong to the
 * caller, who also sets gradients to zero before the next backward (tt_param adds to them).
 */
#ifndef TT_OPTIM_H
#define TT_OPTIM_H

#include "tt/tensor.h"

/* Stochastic gradient descent: W <- W - lr dW, element by element. value and grad have one shape
 * (the caller's promise). */
void tt_sgd_step(tt_tensor value, tt_tensor grad, double lr);

#endif
