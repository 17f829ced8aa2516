/* optim.h: steps that change a parameter by its gradient: gradient descent, with momentum, Adam and
 * AdamW, each as PyTorch defines it. The caller owns parameters, gradients and what a step
 * remembers, and sets gradients to zero before the next backward (tt_param adds to them).
 */
#ifndef TT_OPTIM_H
#define TT_OPTIM_H

#include "tt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_optim_kind { TT_SGD, TT_MOMENTUM, TT_ADAM, TT_ADAMW } tt_optim_kind;

typedef struct tt_optim {
    tt_optim_kind kind;
    double momentum;          /* TT_MOMENTUM: beta, 0 <= beta < 1 */
    double beta1, beta2, eps; /* TT_ADAM, TT_ADAMW: 0 <= beta < 1, eps > 0 */
    double weight_decay;      /* w: an L2 term w W in the gradient; TT_ADAMW: W shrinks by lr w */
} tt_optim;

/* What an optimizer remembers of one parameter. Start with moments of zeros, of the parameter's
 * shape, and 0 steps; those that the kind does not use may have no data. */
typedef struct tt_optim_state {
    tt_tensor moment[2]; /* TT_MOMENTUM: b; TT_ADAM, TT_ADAMW: m and v */
    tt_size steps;       /* taken */
} tt_optim_state;

/* How many moments a kind uses: 0, 1 or 2. */
int tt_optim_moments(tt_optim_kind kind);

/* One step with learning rate lr, element by element; t counts the steps from 1.
 *   TT_SGD       g <- g + w W;  W <- W - lr g
 *   TT_MOMENTUM  g <- g + w W;  b <- g at t = 1, then beta b + g;  W <- W - lr b
 *                (no dampening, no Nesterov; Sutskever et al. 2013, eq. (1), with lr outside of b)
 *   TT_ADAM      g <- g + w W;  m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2;
 *                W <- W - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
 *                (Kingma and Ba 2015, arXiv 1412.6980, algorithm 1)
 *   TT_ADAMW     W <- (1 - lr w) W, then as TT_ADAM with w = 0
 *                (Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2)
 * value, grad and the moments have one shape (the caller's promise); grad is not changed. */
void tt_optim_step(const tt_optim *o, tt_tensor value, tt_tensor grad, tt_optim_state *state,
                   double lr);

/* Clips by the global norm: with n = sqrt(sum of all |g|^2), Frobenius, each gradient is multiplied
 * by most / (n + 1e-6) where that is less than 1. Returns n. (Pascanu et al. 2013, arXiv 1211.5063,
 * algorithm 1; the 1e-6 is PyTorch's.) */
double tt_clip_global_norm(const tt_tensor *grad, int count, double most);

#ifdef __cplusplus
}
#endif

#endif
