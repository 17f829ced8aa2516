/* results.h: the files of one run, FILE = stem.csv and those beside it: stem_runs.csv, ..., and
 * stem.meta, the settings. They are opened together, and appear together or not at all: all are
 * complete under temporary names before the first takes its place, and if one cannot, what stood
 * there before is put back. Results of the same settings are replaced; those of others are kept
 * under the next free number, stem.1.csv, stem.1_runs.csv, ..., unless --force is given. Where FILE
 * is written directly (standard output, a pipe, a device) it is the only one.
 */
#ifndef COMMON_RESULTS_H
#define COMMON_RESULTS_H

#include "common/options.h"
#include "common/output.h"

enum { RESULTS_MOST = 8, RESULTS_ALSO_MOST = 5 };

/* The options of every command that writes results. */
#define RESULTS_OPTIONS(standard, help)                                                            \
    {"output", "FILE", standard, help "; - for standard output"}, {                                \
        "force", NULL, "", "replace FILE even if its settings were others"                         \
    }

typedef struct results {
    const options *options;
    const char *path;           /* FILE */
    const char *const *endings; /* [count] of the others' names; the first, FILE's own, is "" */
    int count;                  /* without .meta */
    bool direct;
    /* Runs that are not in them: in .meta, and so other settings than those of all. */
    tt_size missing;
    /* Write to file[i].stream; NULL for one that is not written. */
    output file[RESULTS_MOST + 1 + RESULTS_ALSO_MOST];
    int also; /* outputs behind .meta */
} results;

/* The option --output: FILE. Prints one line and returns false if it is empty. */
bool results_option(const options *o, const char **path);

/* Opens all, and .meta; an ending NULL leaves that one out. All is borrowed. On failure prints one
 * line and returns false, with nothing left behind. */
bool results_open(results *r, const options *o, const char *const *endings, int count);

/* Whether results_open would succeed: asked before hours are spent on what goes into the files. */
bool results_may_open(const options *o, const char *const *endings, int count);

/* One more output, of a name that has nothing to do with FILE's, for the caller to open, write and
 * close: it takes its place with the rest. At most RESULTS_ALSO_MOST. */
output *results_also(results *r);

/* Closes all and puts them in place. False, after one line, if anything did not arrive or could not
 * take its place. Says one line if earlier results were kept under a number. */
bool results_commit(results *r);

/* Removes what is not in place, and frees. Safe after any of the above. */
void results_discard(results *r);

/* Where tables and sentences go: standard output, or standard error where FILE may be that. */
FILE *results_people(const results *r);

/* "Written: results/a.csv, and beside it results/a_runs.csv, .meta", for people; nothing where FILE
 * is written directly. */
void results_say(const results *r, FILE *to);

#endif
