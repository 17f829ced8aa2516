/* harness.h: what the torture programs share: a budget of time, one stream of random numbers, running
 * the program in a folder of its own, and what a run may leave behind.
 *
 * From the environment: TORTURE_SECONDS (10), TORTURE_SEED (the clock), TORTURE_BUILD (build), where
 * the program and these are. An argument names one case, which alone is run, and shown.
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
    const char *only; /* the one case to run, or NULL */
    char program[PATH_BYTES], programs[PATH_BYTES]; /* sqrtdk, and the folder of these; absolute */
    char root[PATH_BYTES], scratch[PATH_BYTES];
    uint64_t seed, random;                                           /* given, and as drawn from */
    double seconds;
    double started;
    long tried, survived;
} torture;

/* Reads the environment and makes an empty scratch folder; exits with a line if it cannot. `program`
 * is its path in TORTURE_BUILD. */
void torture_start(torture *t, const char *kind, const char *program, int argc, char **argv);

/* Whether there is time for another case. */
bool torture_goes_on(const torture *t);

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

/* ---- Small commands -------------------------------------------------------------------------- */

/* A subcommand with tiny settings, that writes to x.csv (or nothing) in the folder where it runs. */
typedef struct tiny {
    const char *name, *line;
    const char *other; /* makes the settings others; NULL where nothing is written */
    bool resumes;
} tiny;

extern const tiny TINY[];
extern const int TINY_COUNT;

/* Where a command runs: in an empty folder, over results of equal settings (but other bytes), or over
 * those of other settings. */
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

/* NULL, or what is wrong with a run during which something failed: it must end well with all there is,
 * or with exit 1, one line, and everything as it was. */
const char *tiny_wrong(const torture *t, const tiny *command, const expected *e, state s,
                       const char *name, const outcome *o);

#endif
