/* output.h: files that are whole or not there. What is written goes to a temporary file beside the
 * target, made exclusively, and takes its place only when all of it is on disk; an earlier result
 * stays untouched until then. A symbolic link stays and its target is written; an existing file's
 * mode is kept. Temporary files go when the output is discarded and at signals that end the
 * program; what a killed one left, the next output of that name removes.
 */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct output {
    FILE *stream; /* write here */
    char *path;
    char *temporary; /* NULL where the target is written directly, and once it is in place */
    char *earlier;   /* a second name of what stood in its place; NULL for none */
} output;

/* Opens `path` for writing; missing folders are made. "-" is standard output; an existing target
 * that is no regular file (a pipe, a device) is written directly. On failure prints one line with
 * the system's reason and returns false. Discard it in any case. */
bool output_open(output *o, const char *path);

/* Flushes a stream: NULL, or why not all that was written to it arrived. */
const char *output_flush(FILE *stream);

/* Flushes and closes the stream; false (and one line) if anything written did not arrive. The
 * result is not in place yet. */
bool output_close(output *o);

/* Puts an output in place, closed or, if it shall grow there, still open. False (and one line) on
 * failure. */
bool output_commit(output *o);

/* Puts several in place: all or, after one line, none, whatever signal comes in between. */
bool output_commit_all(output *o, int count);

/* Gives up what stood there before, of an output that stays open in its place. */
void output_settle(output *o);

/* Removes what is not in place, and frees. Safe after any of the above. */
void output_discard(output *o);

/* From now on no output takes the place of this file, which is read. */
void output_protect(const char *path);

/* Whether an output may take its place; if not, prints one line. */
bool output_may_replace(const output *o);

/* Whether writing to `path` means a direct write: "-" or an existing non-regular file. */
bool output_is_direct(const char *path);

/* Makes the folders above `path`; false with errno set if one cannot be made. Where it made more
 * than one, as of a path that is mistyped, a line on standard error says so. */
bool output_make_folders(const char *path);

/* `path` without a final ".csv", then `ending`: results/a.csv -> results/a_summary.csv. The caller
 * frees; NULL without memory. */
char *output_beside(const char *path, const char *ending);

/* Has temporary files removed when SIGINT, SIGTERM, SIGHUP or SIGPIPE ends the program. */
void output_catch_signals(void);

/* Between these two none of them comes through to this thread. */
void output_hold_signals(sigset_t *before);
void output_release_signals(const sigset_t *before);

/* What such a signal does; for a handler that has done its own. Does not return. */
void output_die(int signal);

#endif
