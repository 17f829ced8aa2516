/* log.h: the stall experiment's log as a file, and the partial file that a run keeps while it
 * lasts. The partial file holds complete cells only, in the order in which they finished: the
 * run's settings as comments, the log's header, and after each cell's rows a line that says it is
 * complete. A run that was interrupted goes on from there and ends with the same bytes.
 */
#ifndef TRAINING_LOG_H
#define TRAINING_LOG_H

#include <stdio.h>

#include "training/sweep.h"

void stall_log_header(FILE *to);
void stall_log_cell(FILE *to, const cell *c, const char *init);

/* The whole log: header and all cells, nested as d_k, scale, lr, seed, step. */
void stall_log_all(FILE *to, const sweep *s, const char *init);

/* The beginning of a partial file for a run with these settings ("key = value" lines). */
void stall_partial_header(FILE *to, const char *settings);

/* Writes a complete cell, with a hash, and flushes; false, with errno, if it did not arrive. */
bool stall_partial_cell(FILE *to, const cell *c, const char *init);

typedef enum partial_result {
    PARTIAL_READ,    /* complete cells are in the sweep now, marked finished */
    PARTIAL_MISSING, /* the file is empty */
    PARTIAL_OTHER,   /* it is from a run with other settings */
    PARTIAL_DAMAGED  /* its beginning is cut off, or a complete cell is not what was written */
} partial_result;

/* Reads what an interrupted run left. Whatever follows the last complete cell is ignored. */
partial_result stall_partial_read(FILE *from, const char *settings, sweep *s);

#endif
