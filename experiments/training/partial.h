/* partial.h: the file that keeps a stall run's complete cells while it lasts, FILE.partial, so
 * that an interruption costs no more than the cells in work (its format is in stall_log.h). It is
 * locked: a second run to the same output is refused.
 */
#ifndef TRAINING_PARTIAL_H
#define TRAINING_PARTIAL_H

#include <stdbool.h>
#include <stdio.h>

#include "training/sweep.h"

typedef struct unfinished {
    char *path;
    const char *target, *init;
    FILE *earlier, *file; /* as found, and as written */
} unfinished;

/* Opens <target>.partial for a run with these settings. With resume the complete cells of an
 * interrupted run are taken into the sweep; without it such a file is kept under another name.
 * False, and one line was printed, if that cannot be. Close it in any case. The texts are borrowed.
 */
bool unfinished_open(unfinished *u, const char *target, const char *settings, const char *init,
                     sweep *s, bool resume, bool quiet);

/* Adds a complete cell; false, and one line, if it could not be written. */
bool unfinished_add(unfinished *u, const cell *c);

/* Removes the file of a run that is done. */
void unfinished_remove(const unfinished *u);
void unfinished_close(unfinished *u);

#endif
