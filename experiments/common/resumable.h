/* resumable.h: what commands of many runs do alike: complete runs are kept in FILE.partial while
 * the others last (common/partial.h), so that an interruption costs no more than the runs in work.
 * With --shard they are a share, in FILE.I-of-N.partial, and stay there for `sqrtdk merge`. Where
 * FILE is written directly, nothing is kept.
 */
#ifndef COMMON_RESUMABLE_H
#define COMMON_RESUMABLE_H

#include "common/partial.h"
#include "common/results.h"
#include "common/shard.h"

#define RESUMABLE_OPTIONS                                                                          \
    {"resume", NULL, "", "go on from FILE.partial of an interrupted run"}, {                       \
        "shard", "I/N", "", "compute share I of N into FILE.I-of-N.partial, for merge"             \
    }

enum { SHARDS_MOST = 1024 };

/* Partial files whose complete runs become the results of one run of all. */
typedef struct share_files {
    char *const *path;
    int count;
    bool allow_missing;
} share_files;

typedef struct resumable {
    const char *output; /* FILE */
    bool direct, quiet, resume;
    shard shard;
    const options *options; /* as they are recorded */
    char *settings, *target;
    const char *noun; /* what the runs are called: "runs", "cells" */
    partial_runs runs;
    tt_size own, finished; /* runs of this share, and how many of them are complete */
    partial partial;
    results results;
} resumable;

/* The options --output, --quiet, --resume and --shard. On bad input prints one line and returns
 * false. */
bool resumable_option(resumable *r, const options *o);

/* Opens what is kept for these runs, and takes complete ones over with --resume; or, where FILE is
 * written directly, FILE. False after one line. `endings`, as of results_open, and all else is
 * borrowed. In any case, resumable_close. */
bool resumable_open(resumable *r, const options *recorded, const char *noun, partial_runs runs,
                    const char *const *endings, int files);

/* Run i is complete. False after one line if it could not be kept. */
bool resumable_add(resumable *r, tt_size i);

/* What is said where a signal came before all were complete, perhaps before resumable_open, and the
 * exit code. */
int resumable_interrupted(const resumable *r);

/* Likewise where a share is complete. */
int resumable_share_done(const resumable *r);

/* Instead of resumable_open: takes the complete runs of all files over, whose settings must be
 * those recorded, and lists on standard output what is in none. How many that are; -1, and one line
 * was printed, if a file cannot be read or runs are missing that must not. */
tt_size resumable_merge(resumable *r, const options *recorded, partial_runs runs,
                        const share_files *files);

void resumable_close(resumable *r);

#endif
