/* student.h: who learns to attend as a teacher does, under a scaling rule.
 *
 *   student  O = softmax(Z) X Wv, Z made of X Wq and X Wk by the scaling rule under study
 *   loss     L = mean over all B T d_v entries of (O - Y)^2
 *   update   W <- W - lr dL/dW for Wq and Wk
 * The values are given, so the loss falls only if ATTENTION learns. Students of one teacher (with
 * and without the scale, say) share its data, its target and their first weights: they differ in
 * nothing but their rule.
 */
#ifndef TRAINING_STUDENT_H
#define TRAINING_STUDENT_H

#include "common/scaling.h"
#include "training/teacher.h"

/* What is trained, all of one shape. */
typedef struct parameter {
    tt_tensor value, grad;
    tt_tensor first; /* the value at step 0 */
} parameter;

enum { WQ, WK, WV, PARAMETERS };

typedef struct student {
    const scaling *rule;
    parameter parameter[PARAMETERS];
    int count; /* of parameters: Wv is one only where values are trained */
    tt_tape *tape;
    tt_var q, k, v, output, loss; /* of the present step, on tape */
} student;

/* A student of this teacher with this scaling rule, whose first Wq and Wk are multiplied by gain
 * (Wq also by the rule's own query gain). The rule is borrowed. False without memory. Free with
 * student_free. */
bool student_new(student *s, const teacher *t, const scaling *rule, double gain);
void student_free(student *s);

/* Forward and backward on the teacher's present batch; the gradients are then those of this step.
 * NULL, or the tape's error. */
const char *student_learn(student *s, const teacher *t);

/* One step of gradient descent; false if a weight is no longer finite. */
bool student_update(student *s, double lr);

/* L of the present step. */
double student_loss(const student *s);

/* L on the present batch if every weight were 1/T: the error of not attending at all. */
double student_loss_uniform(const student *s, const teacher *t);

/* Bytes that one teacher and so many students need, what is measured of them included; an upper
 * bound (as a double: it may exceed every integer type). */
double training_bytes(const training_config *config, int students);

#endif
