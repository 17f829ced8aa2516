/* model.h: the stall experiment's teacher and student.
 *
 *   target   Y = softmax((X Wq*)(X Wk*)^T / sqrt(d_k)) X Wv      the teacher always scales
 *   student  O = softmax(Z) X Wv, Z made of X Wq and X Wk by the scaling rule under study
 *   loss     L = mean over all B T d_v entries of (O - Y)^2
 *   update   W <- W - lr dL/dW for Wq and Wk
 * The values are given, so the loss falls only if ATTENTION learns. Students of one lesson (with
 * and without the scale, say) share its data, its target and their first weights: they differ in
 * nothing but their rule.
 *
 * All numbers come from one generator, in this order: Wq*, Wk*, Wv, the student's Wq, Wk (and own
 * Wv where values are trained), each standard normal / sqrt(d_model); then, per step, X, standard
 * normal. Entries of Q and K then have variance 1, the assumption of the argument for sqrt(d_k).
 */
#ifndef TRAINING_MODEL_H
#define TRAINING_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "tt/rng.h"
#include "tt/scale.h"
#include "tt/tape.h"

typedef struct model_config {
    tt_size batch, tokens, d_model, d_k, d_v;
    bool fixed_batch;   /* one X for all steps */
    bool train_values;  /* the student has its own Wv and trains it */
    bool start_teacher; /* the student starts at Wq*, Wk* */
} model_config;

/* A lesson: the data and the teacher's answer to it. */
typedef struct lesson {
    model_config config;
    tt_rng rng;
    tt_tensor wq, wk, wv;                         /* the teacher's */
    tt_tensor student_wq, student_wk, student_wv; /* the draws every student starts from */
    tt_tensor x;                                  /* [B,T,d_model] */
    tt_tape *tape;
    tt_var values, target; /* V and Y of the present batch, on tape */
    tt_size steps;         /* batches seen */
} lesson;

/* Draws everything up to the first X. False without memory (the lesson is then empty). Free with
 * lesson_free. */
bool lesson_new(lesson *l, const model_config *config, uint64_t seed);
void lesson_free(lesson *l);

/* Draws the next X (or keeps the first) and computes V and Y. False without memory. */
bool lesson_next(lesson *l);

typedef struct student {
    const tt_scale_rule *rule;
    tt_tensor wq, wk, wv; /* wv only where values are trained */
    tt_tensor grad_wq, grad_wk, grad_wv;
    tt_tensor first_wq, first_wk; /* as at step 0 */
    tt_tape *tape;
    tt_var q, k, v, output, loss; /* of the present step, on tape */
} student;

/* A student of lesson l with this scaling rule, whose first Wq and Wk are multiplied by gain (Wq
 * also by the rule's own query gain). False without memory. Free with student_free. */
bool student_new(student *s, const lesson *l, const tt_scale_rule *rule, double gain);
void student_free(student *s);

/* Forward and backward on the lesson's present batch; the gradients are then those of this step.
 * NULL, or the tape's error. */
const char *student_learn(student *s, const lesson *l);

/* One step of gradient descent; false if a weight is no longer finite. */
bool student_update(student *s, double lr);

/* L of the present step. */
double student_loss(const student *s);

/* L on the present batch if every weight were 1/T: the error of not attending at all. */
double student_loss_uniform(const student *s, const lesson *l);

/* Bytes that one lesson and `students` students need, an upper bound (as a double: it may exceed
 * every integer type). */
double model_bytes(const model_config *config, int students);

#endif
