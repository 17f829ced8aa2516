/* teacher.h: what a student learns from: random tokens, and attention that always scales.
 *
 *   target   Y = softmax(g (X Wq*)(X Wk*)^T / sqrt(d_k)) X Wv
 * with g = 1 unless asked for; as a hard lookup, Y is the value at the largest logit.
 *
 * All numbers come from one generator, in this order: Wq*, Wk*, Wv, the student's first Wq, Wk (and
 * own Wv where values are trained), each standard normal / sqrt(d_model); then, per step, X,
 * standard normal. Entries of Q and K then have variance 1, the assumption of the argument for
 * sqrt(d_k).
 */
#ifndef TRAINING_TEACHER_H
#define TRAINING_TEACHER_H

#include <stdbool.h>
#include <stdint.h>

#include "tt/rng.h"
#include "tt/tape.h"

/* Where the student starts: at its own draws, or at Wq*, Wk*. A word_list. */
enum { INIT_STANDARD, INIT_TEACHER, INITS };
const char *teacher_init_word(int i);

/* What the target's weights are: the teacher's softmax, or 1 at its largest logit. A word_list. */
enum { TARGET_SOFT, TARGET_HARD, TARGETS };
const char *teacher_target_word(int i);

typedef struct training_config {
    tt_size batch, tokens, d_model, d_k, d_v;
    bool fixed_batch;   /* one X for all steps */
    bool train_values;  /* the student has its own Wv and trains it */
    bool start_teacher; /* the student starts at Wq*, Wk* */
    bool hard_target;
    double target_gain; /* g; 0 stands for 1 */
} training_config;

typedef struct teacher {
    training_config config;
    tt_rng rng;
    tt_tensor wq, wk, wv;                   /* Wq*, Wk* [1,d_model,d_k], Wv [1,d_model,d_v] */
    tt_tensor first_wq, first_wk, first_wv; /* the draws every student starts from */
    tt_tensor x;                            /* [B,T,d_model] */
    tt_tape *tape;
    tt_var values, target; /* V and Y of the present batch, on tape */
    tt_tensor weights;     /* [B,T,T] the target's, on tape */
    tt_size steps;         /* batches seen */
} teacher;

/* Draws everything up to the first X. False without memory (the teacher is then empty). Free with
 * teacher_free. */
bool teacher_new(teacher *t, const training_config *config, uint64_t seed);
void teacher_free(teacher *t);

/* Draws the next X (or keeps the first) and computes V and Y. False without memory. */
bool teacher_next(teacher *t);

/* The mean squared error to the target y of values v [B,T,d_v] under weights that are all 1/T: of
 * not attending at all. */
double loss_uniform(tt_tensor v, tt_tensor y);

#endif
