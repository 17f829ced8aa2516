/* output.h: files that are whole or not there. What is written goes to a temporary name beside the
 * target and takes its place only when all of it is on disk; an earlier result stays untouched
 * until then.
 */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct output {
    FILE *stream; /* write here */
    char *path;
    char *temporary; /* NULL where the target is written directly */
} output;

/* Opens `path` for writing; missing folders are made. "-" is standard output; an existing target
 * that is no regular file (a pipe, a device) is written directly. On failure prints one line with
 * the system's reason and returns false. */
bool output_open(output *o, const char *path);

/* Flushes and closes the stream; false (and one line) if anything written did not arrive. The
 * result is not in place yet. */
bool output_close(output *o);

/* Puts a closed output in place. False (and one line) on failure. */
bool output_commit(output *o);

/* Removes what was written to the temporary name, if anything, and frees. Safe after commit. */
void output_discard(output *o);

/* Whether writing to `path` means a direct write: "-" or an existing non-regular file. */
bool output_is_direct(const char *path);

/* Makes the folders above `path`; false with errno set if one cannot be made. */
bool output_make_folders(const char *path);

/* `path` without a final ".csv", then `ending`: results/a.csv -> results/a_summary.csv. The caller
 * frees; NULL without memory. */
char *output_beside(const char *path, const char *ending);

#endif
