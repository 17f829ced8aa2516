/* product.h: a student that keeps only the products of its weights. The loss depends on Wq, Wk
 * through M = Wq Wk^T alone, the logits being
 *   Z = exp(tau) s X M X^T
 * and plain gradient descent closes on M, A = Wq Wq^T and B = Wk Wk^T. With G = dL/dM, so that
 * dL/dWq = G Wk and dL/dWk = G^T Wq, a step of h makes of them exactly
 *   M <- M - h (G B + A G)     + h^2 G M^T G
 *   A <- A - h (G M^T + M G^T) + h^2 G B G^T
 *   B <- B - h (G^T M + M^T G) + h^2 G^T A G
 * all [d_model,d_model]: d_k drops out of the cost. Other optimizers, decay and clipping do not
 * close. Below d_model the products have lost rank, and rounding grows; at d_model they have nearly
 * lost it, and it grows in long runs. These take a student (training/student.h), products d_k from
 * 1.5 d_model up.
 */
#ifndef TRAINING_PRODUCT_H
#define TRAINING_PRODUCT_H

#include "common/scaling.h"
#include "training/recipe.h"
#include "training/teacher.h"

/* In place of the softmax's own backward: the gradient dz[n] of a row's logits from its weights
 * p[n] and their gradient dp[n]. */
typedef void softmax_backward(void *context, const double *p, const double *dp, tt_size n,
                              double *dz);

typedef struct product_config {
    const scaling *rule; /* with a constant factor */
    double gain;         /* on the first Wq, Wk; Wq is also multiplied by the rule's own */
    double lr;
    const recipe *recipe;       /* NULL: RECIPE_PLAIN; its rates and temperature */
    softmax_backward *backward; /* NULL: the library's */
    void *context;              /* of backward */
} product_config;

typedef struct product {
    product_config config;
    double scale;        /* s */
    tt_tensor m, a, b;   /* [1,d_model,d_model] */
    tt_tensor gradient;  /* G of the present step; [1,d_model,d_model] */
    tt_tensor scaled;    /* exp(tau) s M */
    tt_tensor transpose; /* scratch: G^T */
    double tau, dtau;
    tt_size steps; /* updates made */
    tt_tape *tape;
    tt_var logits, weights, output, loss; /* of the present step, on tape */
} product;

/* Whether such training closes on the products, and keeps to them within rounding. */
bool product_applies(const scaling *rule, const optimizer *o, const recipe *r,
                     const training_config *config);

/* Starts at Wq, Wk [1,d_model,d_k], which are only read here. What config points to is borrowed,
 * and so is the tape, which several products may share: what is on it is of the one that learned
 * last. False without memory. Free with product_free. */
bool product_new(product *p, tt_tensor wq, tt_tensor wk, const product_config *config,
                 tt_tape *tape);
void product_free(product *p);

/* Forward and backward on the teacher's present batch. NULL, or the tape's error. */
const char *product_learn(product *p, const teacher *t);

/* The step above at the rate of this step, right after product_learn; tau moves as a student's
 * does. NULL, or the tape's error. */
const char *product_update(product *p);

/* Whether all of it is finite. */
bool product_finite(const product *p);

/* L of the present step. */
double product_loss(const product *p);

/* tr A + tr B, which is |Wq|^2 + |Wk|^2. */
double product_weights_squared(const product *p);

#endif
