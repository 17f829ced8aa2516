/* harness.h: what the torture programs share: a budget of time, one stream of random numbers,
 * running the program in a folder of its own, and what a run may leave behind.
 *
 * From the environment: TORTURE_SECONDS (10), TORTURE_SEED (the clock), TORTURE_BUILD (build),
 * where the program and these are, TORTURE_SHOWN (20), how many failures are shown. An argument
 * names one case, which alone is run, and shown.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PATH_BYTES = 1024, WORDS_MOST = 96, FILES_MOST = 64, TEXT_BYTES = 1024 };

/* ---- A kind of torture ----------------------------------------------------------------------- */

typedef struct torture {
    const char *kind;
    const char *only;                               /* the one case to run, or NULL */
    char program[PATH_BYTES], programs[PATH_BYTES]; /* sqrtdk, and the folder of these; absolute */
    char root[PATH_BYTES], scratch[PATH_BYTES];
    uint64_t seed, random; /* given, and as drawn from */
    double seconds;
    double started; /* 0: not yet */
    long tried, survived;
} torture;

/* Reads the environment and makes an empty scratch folder; exits with a line if it cannot.
 * `program` is its path in TORTURE_BUILD. */
void torture_start(torture *t, const char *kind, const char *program, int argc, char **argv);

/* Whether there is time for another case; the clock starts at the first question, after setup. */
bool torture_goes_on(torture *t);

/* Whether this case is to be run. */
bool torture_wants(const torture *t, const char *name);

/* Counts a case; `wrong` is NULL where it survived, else said with how to see it again. */
void torture_count(torture *t, const char *name, const char *wrong);

/* Says the figures; what main returns. `of` is how many cases there are, 0 without end. */
int torture_end(const torture *t, long of);

/* The next random number, below `limit`; splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
uint64_t torture_below(torture *t, uint64_t limit);

/* A list with room for one more entry of so many bytes, and a list in random order. */
void *torture_grow(void *list, long length, size_t bytes);
void torture_shuffle(torture *t, void *list, long length, size_t bytes);

/* ---- Running --------------------------------------------------------------------------------- */

typedef struct outcome {
    int code;   /* of its exit, -1 if a signal ended it */
    int signal; /* that ended it, else 0 */
    char *out, *err;
    size_t out_bytes, err_bytes;
} outcome;

/* Splits a command line at its blanks; words[0] is the program. The text is cut. */
void words_of(const torture *t, char *text, char *words[WORDS_MOST]);

/* Starts words[] in a folder of the scratch, with both streams into files beside it. The process
 * ends by SIGALRM after so many seconds. `before_exec` (or NULL) is called in the new process. */
pid_t run_start(const torture *t, char *const words[], const char *folder, unsigned seconds,
                void (*before_exec)(void *), void *context);

/* Waits for it; free with outcome_free. */
outcome run_end(const torture *t, pid_t process);
outcome run(const torture *t, char *const words[], const char *folder, unsigned seconds);
void outcome_free(outcome *o);

/* NULL, or how an outcome is neither exit 0 nor 1 or 2 with one line on standard error. A FAIL of
 * gradcheck is exit 1 with the tables. */
const char *outcome_wrong(const outcome *o);

/* ---- Folders --------------------------------------------------------------------------------- */

typedef struct folder {
    int count;
    struct {
        char name[256];
        uint64_t hash;
        size_t bytes;
    } file[FILES_MOST]; /* by name */
} folder;

/* Empties the folder, and fills it with a copy of another one, if not NULL. */
void folder_make(const torture *t, const char *name, const char *from);
void folder_read(const torture *t, const char *name, folder *f);

/* The first file in which they differ, but for those whose names end like `but` (or NULL); NULL if
 * none. */
const char *folder_differs(const folder *a, const folder *b, const char *but);

/* A file that a finished command must not leave: temporary, set aside, or unfinished; or NULL. */
const char *folder_left_over(const folder *f);

/* The whole file, with a 0 behind it; the caller frees. NULL if there is none. */
char *file_read(const torture *t, const char *folder_name, const char *file, size_t *bytes);
void file_write(const torture *t, const char *folder_name, const char *file, const void *data,
                size_t bytes);

/* Copies a file of the source tree, named from its root. */
void file_copy(const torture *t, const char *from, const char *folder_name, const char *file);

#endif
