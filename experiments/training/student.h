/* student.h: who learns to attend as a teacher does, under a scaling rule.
 *
 *   student  O = softmax(Z) X Wv, Z made of X Wq and X Wk by the scaling rule under study
 *   loss     L = mean over all B T d_v entries of (O - Y)^2
 *   update   W <- W - lr dL/dW for Wq and Wk, or by another optimizer
 * The values are given, so the loss falls only if ATTENTION learns. Students of one teacher (with
 * and without the scale, say) share its data, its target and their first weights: they differ in
 * nothing but their rule.
 */
#ifndef TRAINING_STUDENT_H
#define TRAINING_STUDENT_H

#include "common/scaling.h"
#include "training/recipe.h"
#include "training/teacher.h"

/* What is trained, all of one shape. No data: it is not trained. */
typedef struct parameter {
    tt_tensor value, grad;
    tt_tensor first; /* the value at step 0 */
    tt_optim_state state;
} parameter;

/* The last is [1,1,1], the logarithm of the learned temperature: the logits are multiplied by
 * exp(tau). */
enum { WQ, WK, WV, TAU, PARAMETERS };

typedef struct student_config {
    const scaling *rule;
    double gain;                /* on the first Wq, Wk; Wq is also multiplied by the rule's own */
    const optimizer *optimizer; /* NULL: plain gradient descent */
    double lr;
    const recipe *recipe; /* NULL: RECIPE_PLAIN */
} student_config;

typedef struct student {
    const scaling *rule;
    const recipe *recipe;
    tt_optim optim;
    double lr;
    parameter parameter[PARAMETERS];
    tt_size steps; /* updates made */
    tt_tape *tape;
    tt_var q, k, v, output, loss; /* of the present step, on tape */
} student;

/* A student of this teacher. What the config points to is borrowed. False without memory. Free with
 * student_free. */
bool student_new(student *s, const teacher *t, const student_config *config);
void student_free(student *s);

/* Forward and backward on the teacher's present batch; the gradients are then those of this step.
 * NULL, or the tape's error. */
const char *student_learn(student *s, const teacher *t);

/* One step of the optimizer: both gradients of Wq, Wk are clipped by their global norm, Wq, Wk (and
 * Wv) move at the rate of this step, tau by the same optimizer at its own rate, neither clipped nor
 * decayed, from the recipe's step on. False if a weight is no longer finite. */
bool student_update(student *s);

/* What the logits are multiplied by beside the rule: exp(tau), 1 where it is not learned. */
double student_temperature(const student *s);

/* L of the present step. */
double student_loss(const student *s);

/* L on the present batch if every weight were 1/T: the error of not attending at all. */
double student_loss_uniform(const student *s, const teacher *t);

/* What an optimizer of this kind remembers of a parameter of w's shape. False without memory; to be
 * freed in any case. */
bool student_state_new(tt_optim_state *state, tt_optim_kind kind, tt_tensor w);
void student_state_free(tt_optim_state *state);

/* Bytes that one teacher and so many students need whose optimizers keep so many moments, what is
 * measured of them included; an upper bound (as a double: it may exceed every integer type). */
double training_bytes(const training_config *config, int students, int moments);

#endif
