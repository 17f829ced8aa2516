/* log.h: the log of a sweep as a CSV: a row for each logged step of each run, measured before that
 * step's update. Its columns are the run's key, those of columns.h, and between `moved` and
 * `entropy_teacher` what else tells runs of different sweeps apart.
 */
#ifndef TRAINING_LOG_H
#define TRAINING_LOG_H

#include <stdio.h>

#include "training/sweep.h"

void log_header(FILE *to);

/* "seed,d_k,scale,optimizer,lr" of a run. */
void log_key(FILE *to, const run *c);

/* The rows of one run of this sweep. */
void log_run(FILE *to, const sweep *s, const run *c);

/* The whole log: header and all finished runs, nested as d_k, scale, rate, seed, step. */
void log_write(FILE *to, const sweep *s);

/* ---- Reading back ---- */

/* One row of a run from its text behind the key; false if it is none. */
bool log_read_row(const char *text, log_row *row);

#endif
