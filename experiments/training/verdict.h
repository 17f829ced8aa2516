/* verdict.h: what is said of a run by its ratio, loss / loss_uniform at its end. */
#ifndef TRAINING_VERDICT_H
#define TRAINING_VERDICT_H

typedef enum verdict { TRAINED, SLOW, STALLED, DIVERGED, VERDICTS } verdict;

/* By verdict, or NULL from their count up. */
const char *verdict_name(int i);

/* trained <= 0.1 (attention removes nine tenths of what not attending leaves), stalled >= 1
 * (attention does no better than not attending at all), else slow; infinite: diverged. */
verdict verdict_of(double ratio);

/* Why a verdict is not `trained`, by the mean entropies of the student's rows and the teacher's at
 * the last logged step: "too sharp" or "too flat"; "" for a trained run, for a diverged one, whose
 * last logged step may be long before its end, and for nan. */
const char *verdict_reason(verdict v, double entropy, double entropy_teacher);

#endif
