/* partial.h: the file that keeps a command's complete runs while it lasts, FILE.partial, so that an
 * interruption costs no more than the runs in work. It holds the settings as comments, a header,
 * and then run after run as they finish, each with a last line that says it is complete. What was
 * interrupted goes on from there and ends with the same bytes. The file is locked: a second command
 * to the same output is refused.
 */
#ifndef COMMON_PARTIAL_H
#define COMMON_PARTIAL_H

#include <stdbool.h>
#include <stdio.h>

#include "common/output.h"
#include "tt/tensor.h"

/* The runs, as their owner writes and reads them. */
typedef struct partial_runs {
    const char *command; /* its name */
    void *context;
    tt_size count;
    void (*header)(FILE *to, void *context);
    bool (*complete)(void *context, tt_size i);
    bool (*elsewhere)(void *context, tt_size i);      /* of another share */
    void (*rows)(FILE *to, void *context, tt_size i); /* whole lines, or nothing */
    void (*end)(FILE *to, void *context, tt_size i);  /* the text of the last line */
    void (*name)(FILE *to, void *context, tt_size i); /* what people call it */
    /* A line of a run, and the text of its last line, whose hash was right, on which it is
     * complete. False for what is none. */
    bool (*read_row)(void *context, const char *line);
    bool (*read_end)(void *context, const char *text);
    void (*forget)(void *context, tt_size i); /* rows of a run that was cut off */
} partial_runs;

typedef struct partial {
    char *path;
    const char *target;
    const partial_runs *runs;
    bool own;    /* what stands at this path is this command's, or empty */
    bool holds;  /* a complete run */
    FILE *found; /* as an interrupted command left it */
    output file; /* as written now */
} partial;

/* Opens <target>.partial for runs with these settings ("key = value" lines). With resume the
 * complete runs of an interrupted command are taken over; without it such a file is kept under the
 * next free number. False, and one line was printed, if that cannot be. Close it in any case. Texts
 * and runs are borrowed. */
bool partial_open(partial *p, const char *target, const char *settings, const partial_runs *runs,
                  bool resume);

/* The settings that a partial file was opened with; the caller frees. NULL, and one line, if it is
 * none. */
char *partial_settings(const char *path);

/* Takes the complete runs of such a file over, whose settings must be these; it stays as it is.
 * False, and one line, if they are others, or a run is damaged or complete already. */
bool partial_take(const char *path, const char *settings, const partial_runs *runs);

/* Adds a complete run; false, and one line, if it could not be written. */
bool partial_add(partial *p, tt_size i);

/* Removes the file of what is done; false, and one line, if it stays. */
bool partial_remove(const partial *p);

/* Removes the file, too, if no run in it is complete: there is nothing to go on from. */
void partial_close(partial *p);

#endif
