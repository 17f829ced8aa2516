/* results.h: the files of one run, FILE and those beside it: stem.csv, stem_runs.csv, stem.meta,
 * ... They are opened together, and all are complete under temporary names before the first takes
 * its place. Where FILE is written directly (standard output, a pipe, a device) it is the only one.
 */
#ifndef COMMON_RESULTS_H
#define COMMON_RESULTS_H

#include "common/options.h"
#include "common/output.h"

enum { RESULTS_MOST = 8 };

typedef struct results {
    const char *path;           /* FILE */
    const char *const *endings; /* [count] of the others' names; the first, FILE's own, is "" */
    int count;
    bool direct;
    output file[RESULTS_MOST]; /* write to file[i].stream; NULL for one that is not written */
} results;

/* The option --output: FILE. Prints one line and returns false if it is empty. */
bool results_option(const options *o, const char **path);

/* Opens all; an ending NULL leaves that one out. Paths and endings are borrowed. On failure prints
 * one line and returns false, with nothing left behind. */
bool results_open(results *r, const char *path, const char *const *endings, int count);

/* Whether results_open would succeed: asked before hours are spent on what goes into the files. */
bool results_may_open(const char *path, const char *const *endings, int count);

/* Closes all and puts them in place. False, after one line, if anything did not arrive. */
bool results_commit(results *r);

/* Removes what is not in place, and frees. Safe after any of the above. */
void results_discard(results *r);

/* "Written: results/a.csv, and beside it results/a_runs.csv, .meta", for people; nothing where FILE
 * is written directly. */
void results_say(const results *r, FILE *to);

#endif
