/* progress.h: one line on a terminal that says how far a long run is, and how what was done last
 * ended. Silent where standard error is no terminal, so logs of batch systems stay clean.
 */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include <stdbool.h>
#include <time.h>

#include "common/message.h"
#include "tt/tensor.h"

enum { PROGRESS_WIDTH = 79 }; /* of the line: in the last column terminals begin a new one */

typedef struct progress {
    bool shown;
    const char *unit; /* what `steps` counts: "steps" unless set after progress_start */
    const char *item; /* what is counted up to the end: "runs" unless set likewise */
    tt_size items, items_done;
    double work, work_done; /* any unit; the time left is in proportion */
    tt_size steps_done;
    char last[PROGRESS_WIDTH + 1]; /* of the item done last, "" before the first */
    struct timespec start;
    int width;    /* of the line as it stands there */
    double drawn; /* seconds after start of the last drawing */
} progress;

/* Starts the clock; quiet: draw nothing. */
void progress_start(progress *p, tt_size items, double work, bool quiet);

/* More work is done; draws at most ten times a second. */
void progress_advance(progress *p, tt_size steps, double work);

/* An item is done: which, and how it ended. */
void progress_item(progress *p, const char *format, ...) PRINTF_LIKE(2, 3);

/* The line as it is so many seconds after the start, cut where it would be too long for
 * text_width(): "12 of 70 runs, 0:41 left; LAST", until there is a last one with the speed. */
void progress_line(const progress *p, double seconds, char line[PROGRESS_WIDTH + 1]);

/* Removes the line. */
void progress_end(progress *p);

/* Seconds since progress_start. */
double progress_seconds(const progress *p);

#endif
