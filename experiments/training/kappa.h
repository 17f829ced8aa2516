/* kappa.h: the nominal step in logits. Leaving out the scale under gradient descent changes two
 * things only: how sharp training starts, and kappa, how far one step moves the logits at a given
 * gradient of the logits, over that of sqrt at lr 1. At one kappa rules differ in their start
 * alone.
 *
 *   kappa = lr s^2 d_k (g_q^2 + g_k^2) / 2      sgd, momentum        (sqrt: lr; none: lr d_k)
 *   kappa = lr s d_k (g_q + g_k) / 2            adam, adamw, whose steps do not grow with dL/dW
 * with s the rule's constant factor and g_q, g_k what the first Wq, Wk are multiplied by. A rule
 * that divides by norms has no s: its kappa is measured.
 */
#ifndef TRAINING_KAPPA_H
#define TRAINING_KAPPA_H

#include "common/scaling.h"
#include "training/recipe.h"
#include "training/student.h"

/* kappa at lr 1 of students of this shape whose first Wq, Wk are multiplied by gain; nan for a rule
 * without a constant factor. */
double kappa_per_lr(const scaling *rule, const optimizer *o, const training_config *config,
                    double gain);

/* The same of any rules, measured on the first batch of this seed: how far the optimizer's first
 * step at lr 1, without decay, moves the logits under the rule at this gain (root mean square,
 * first order), over the same of sqrt at gain 1, times sqrt's kappa. Both start at the student's
 * draws. out[count]; false without memory. */
bool kappa_measure(const scaling *const *rule, int count, const optimizer *o, const recipe *r,
                   const training_config *config, double gain, uint64_t seed, double *out);

/* The same formulas at the student's present weights, rate and temperature, |W| taking the place of
 * its expectation at the start; nan for a rule without a constant factor. */
double kappa_now_of(const student *s, const optimizer *o, tt_size tokens);

#endif
