/* partial.h: the file that keeps a sweep's complete runs while it lasts, FILE.partial, so that an
 * interruption costs no more than the runs in work. It holds the sweep's settings as comments, the
 * log's header, and then run after run as they finish, each with a line that says it is complete.
 * What was interrupted goes on from there and ends with the same bytes. The file is locked: a
 * second sweep to the same output is refused.
 */
#ifndef TRAINING_PARTIAL_H
#define TRAINING_PARTIAL_H

#include <stdbool.h>
#include <stdio.h>

#include "common/output.h"
#include "training/sweep.h"

typedef struct partial {
    char *path;
    const char *target;
    const sweep *sweep;
    FILE *found; /* as an interrupted sweep left it */
    output file; /* as written now */
} partial;

/* Opens <target>.partial for a sweep with these settings ("key = value" lines). With resume the
 * complete runs of an interrupted one are taken over; without it such a file is kept under the next
 * free number. False, and one line was printed, if that cannot be. Close it in any case. Texts and
 * sweep are borrowed. */
bool partial_open(partial *p, const char *target, const char *settings, sweep *s, bool resume);

/* Adds a complete run; false, and one line, if it could not be written. */
bool partial_add(partial *p, const run *c);

/* Removes the file of a sweep that is done. */
void partial_remove(const partial *p);
void partial_close(partial *p);

#endif
