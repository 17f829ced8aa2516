/* tiny.h: each subcommand with tiny settings, and what a run of it may do while something fails. */
#ifndef TINY_H
#define TINY_H

#include "harness.h"

/* A subcommand with tiny settings, which writes x.csv (or nothing) in the folder where it runs. */
typedef struct tiny {
    const char *name, *line;
    const char *other; /* makes the settings others; NULL where nothing is written */
    bool resumes;
} tiny;

extern const tiny TINY[];
extern const int TINY_COUNT;

/* Where a command runs: in an empty folder, over results of equal settings (but other bytes), or
 * over those of other settings. */
typedef enum state { EMPTY, SAME, OTHER, STATES } state;
const char *state_name(state s);

/* What a command does when nothing fails, from each state. */
typedef struct expected {
    folder before[STATES], after[STATES];
    outcome outcome[STATES];
    int states; /* 1 where nothing is written */
} expected;

/* Makes the folders NAME.before.STATE and runs the command in copies of them. */
void expected_make(const torture *t, const tiny *command, expected *e);
void expected_free(expected *e);

/* The folder in which a case of that command starts, made anew; `name` is its own. */
void tiny_prepare(const torture *t, const tiny *command, state s, const char *name);

/* NULL, or what is wrong with a run during which something failed: it must end well with all there
 * is, or with exit 1, one line, and everything as it was. */
const char *tiny_wrong(const torture *t, const tiny *command, const expected *e, state s,
                       const char *name, const outcome *o);

#endif
