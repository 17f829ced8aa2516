/* recipe.h: how a student's weights are changed step by step: the one list of optimizers, and what
 * all runs of a sweep share: their constants, the schedule of the learning rate, clipping, and a
 * learned temperature.
 */
#ifndef TRAINING_RECIPE_H
#define TRAINING_RECIPE_H

#include <stdbool.h>

#include "tt/optim.h"

typedef struct optimizer {
    const char *name;
    tt_optim_kind kind;
    double lr;           /* where none is given */
    double weight_decay; /* likewise */
    /* Whether a step's size does not depend on the gradient's: kappa is then lr s d_k g, else
     * lr s^2 d_k g^2 (training/kappa.h). */
    bool normalised;
    /* Below so much travelled (training/verdict.h) nothing is said of a stall: most soft starts
     * that build/calibrate-verdicts tries have trained by then. */
    double enough;
    const char *meaning;
} optimizer;

/* The i-th optimizer, the first of them plain gradient descent, or NULL from their count up. */
const optimizer *optimizer_at(int i);

/* Its name, or NULL: a word_list. */
const char *optimizer_name(int i);

/* The optimizer of that name, or NULL. */
const optimizer *optimizer_find(const char *name);

/* From this step on the learning rate is multiplied by the factor. */
typedef struct schedule_point {
    tt_size step;
    double factor;
} schedule_point;

enum { SCHEDULE_MOST = 64 };

typedef struct recipe {
    double momentum, beta1, beta2, eps;
    double weight_decay;                    /* nan: each optimizer's own */
    double clip;                            /* on the global norm of dWq, dWk; infinite: none */
    double temperature_lr;                  /* 0: the temperature is not learned */
    tt_size temperature_from;               /* the step at which learning it starts */
    schedule_point schedule[SCHEDULE_MOST]; /* by step, ascending */
    int schedule_count;
    tt_size warm_up; /* steps; 0: none */
} recipe;

/* PyTorch's constants, a constant rate, no clipping, no temperature. */
extern const recipe RECIPE_PLAIN;

/* What tt_optim_step takes. */
tt_optim recipe_optim(const recipe *r, const optimizer *o);

/* What the learning rate is multiplied by at this step, counted from 0: the factor of the last
 * point of the schedule that was reached, times min(1, (step + 1) / warm_up). */
double recipe_factor(const recipe *r, tt_size step);

/* The sum of these over the first so many steps. */
double recipe_factor_sum(const recipe *r, tt_size steps);

/* How many steps it takes for that sum to reach so much (as a double: it may exceed every integer
 * type). */
double recipe_steps_to(const recipe *r, double sum);

#endif
