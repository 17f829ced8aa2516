/* columns.h: the measured columns of the log: what one row says about a student, measured after
 * backward and before the update (logit_step: what that does): every link of the chain from the
 * loss to the weights, the state of the softmax, and what the student has learned. The one list of
 * them is in columns.c, in the order of the log; who needs one asks for it by name.
 */
#ifndef TRAINING_COLUMNS_H
#define TRAINING_COLUMNS_H

#include <stdio.h>

#include "training/student.h"

int columns_count(void);

/* The name of column i, or NULL from their count up. */
const char *column_name(int i);

/* What it is, in a line. */
const char *column_meaning(int i);

/* The column of that name; -1 if there is none. */
int column_find(const char *name);

/* Names and meanings, for --help. */
void columns_help(FILE *to);

/* Memory for measuring the students of one teacher, reused from row to row; what they share is
 * measured once a step. */
typedef struct meter {
    tt_tape *tape;
    double *rows;           /* scratch, a value a row */
    tt_size seen;           /* the teacher's steps when it was measured; 0: not yet */
    tt_size *its_argmax;    /* of each row of its weights */
    double entropy_teacher; /* mean over its rows */
    tt_tensor weight[2];    /* Wq, Wk as they were when read; then their change */
    double log_temperature; /* likewise */
    bool brief;             /* without cos_m and ratio_rescaled, which cost most: these are nan */
} meter;

bool meter_new(meter *m, const training_config *config);
void meter_free(meter *m);

/* Fills out[columns_count()] from a student that has just learned from this teacher, but for what
 * its update will do. NULL, or what failed. */
const char *meter_read(meter *m, const student *s, const teacher *t, double *out);

/* Fills in the rest, after the update of the step that was read. */
const char *meter_read_update(meter *m, const student *s, const teacher *t, double *out);

/* Root mean square over the batch's logits of their first-order change when Wq, Wk [d_model,d_k]
 * and tau change by so much; negative without memory. */
double meter_logit_step(meter *m, const student *s, const teacher *t, tt_tensor dwq, tt_tensor dwk,
                        double dtau);

#endif
