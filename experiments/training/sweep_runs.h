/* sweep_runs.h: a sweep's runs as the partial file keeps them: their rows of the log, and a line
 * with what else was found of them.
 */
#ifndef TRAINING_SWEEP_RUNS_H
#define TRAINING_SWEEP_RUNS_H

#include "common/partial.h"
#include "training/sweep.h"

/* Of this command; both are borrowed. */
partial_runs sweep_runs(sweep *s, const char *command);

#endif
