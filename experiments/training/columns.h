/* columns.h: what one row of the stall log says about a student, measured after backward and
 * before the update: every link of the chain from the loss to the weights, the state of the
 * softmax, and what the student has learned.
 */
#ifndef TRAINING_COLUMNS_H
#define TRAINING_COLUMNS_H

#include "training/model.h"

/* The measured columns, in the order of the log (which puts init, init_gain and kappa, settings of
 * the run, between `moved` and `entropy_teacher`). */
typedef enum measure {
    M_LOSS,         /* L */
    M_LOSS_UNIFORM, /* L if every weight were 1/T */
    M_GRAD_WQ,      /* Frobenius norms of dL/dWq, dL/dWk, dL/dQ, dL/dK */
    M_GRAD_WK,
    M_GRAD_Q,
    M_GRAD_K,
    M_GRAD_LOGITS,   /* of dL/dZ, Z = the softmax's input, after the scale */
    M_ROW_GRAD_MEAN, /* over the B T rows r: |d l_r / d z_r|, l_r = row r's mean squared error */
    M_ROW_GRAD_P10,  /* (L is the mean of the l_r) */
    M_ROW_GRAD_MEDIAN,
    M_ROW_GRAD_P90,
    M_JACOBIAN_MEAN, /* over the rows: Frobenius norm of diag(w) - w w^T */
    M_JACOBIAN_MEDIAN,
    M_ENTROPY_MEAN, /* nats */
    M_MAX_WEIGHT_MEAN,
    M_LOGIT_STD,        /* population standard deviation of all entries of Z */
    M_MOVED,            /* |(Wq, Wk) - (Wq, Wk at step 0)| / |(Wq, Wk at step 0)| */
    M_ENTROPY_TEACHER,  /* mean entropy of the target's weights, nats */
    M_ARGMAX_AGREEMENT, /* share of rows whose largest weight is at the teacher's place */
    M_COS_M,            /* cosine of s Wq Wk^T and Wq* Wk*^T as vectors */
    M_RATIO_RESCALED,   /* loss / loss_uniform if the logits were multiplied by the one scalar >= 0
                           that is best for this batch */
    MEASURES
} measure;

/* The columns' names. */
extern const char *const MEASURE_NAMES[MEASURES];

/* Memory for measuring, reused from row to row. */
typedef struct meter {
    tt_tape *tape;
    double *rows; /* scratch, a value a row */
} meter;

bool meter_new(meter *m, const model_config *config);
void meter_free(meter *m);

/* Fills out[MEASURES] from a student that has just learned from lesson l. NULL, or what failed. */
const char *meter_read(meter *m, const student *s, const lesson *l, double *out);

#endif
