/* recall.h: a sweep as it was, from the files that it left. */
#ifndef STALL_RECALL_H
#define STALL_RECALL_H

#include "training/sweep.h"

/* Reads the log at this path and stem_runs.csv beside it into the runs of a sweep that was laid out
 * from the same settings. False, after one line, if a file is missing or is not that sweep's. */
bool recall_sweep(sweep *s, const char *path);

#endif
