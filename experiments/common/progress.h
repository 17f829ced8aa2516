/* progress.h: one line on a terminal that says how far a long run is. Silent where standard error
 * is no terminal, so logs of batch systems stay clean.
 */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include <stdbool.h>
#include <time.h>

#include "tt/tensor.h"

typedef struct progress {
    bool shown;
    const char *unit; /* what `steps` counts: "steps" unless set after progress_start */
    const char *item; /* what is counted up to the end: "runs" unless set likewise */
    tt_size items, items_done;
    double work, work_done; /* any unit; the time left is in proportion */
    tt_size steps_done;
    struct timespec start;
    double drawn; /* seconds after start of the last drawing */
} progress;

/* Starts the clock; quiet: draw nothing. */
void progress_start(progress *p, tt_size items, double work, bool quiet);

/* More work is done; draws at most ten times a second. */
void progress_advance(progress *p, tt_size steps, double work);
void progress_item(progress *p);

/* Removes the line. */
void progress_end(progress *p);

/* Seconds since progress_start. */
double progress_seconds(const progress *p);

#endif
