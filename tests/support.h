/* support.h: what several tests share: random tensors, a numeric gradient, running the program,
 * files, tables and arrays. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>

#include "heads/array_file.h"
#include "tt/rng.h"
#include "tt/tape.h"

/* How many entries an array has. */
#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

/* A suite with one test case; a minute is for sanitizers and valgrind, not for the tests. */
Suite *suite_of(const char *name, const TTest *const *tests, int count, double seconds);

/* Adds a test that runs for each _i below the count. */
void add_loop(Suite *suite, const TTest *test, int count, double seconds);

/* Standard normal entries from the stream; fails the test without memory. Free with
 * tt_tensor_free. */
tt_tensor random_tensor(tt_rng *rng, tt_size batch, tt_size rows, tt_size cols);

/* Seeds the stream and draws Q, K, V of B, Tq, Tk, d_k, d_v as random_tensor does. */
void draw_inputs(tt_rng *rng, uint64_t seed, tt_tensor in[3], tt_size b, tt_size tq, tt_size tk,
                 tt_size d_k, tt_size d_v);
void free_inputs(tt_tensor in[3]);

/* For a parameter whose gradient the tape keeps. */
extern const tt_tensor NO_GRAD;

/* Whether fma(-0, 1, -0) is -0 here, as it is everywhere but under valgrind, which makes it 0. */
bool fma_knows_minus_zero(void);

void assert_same_bits(tt_tensor a, tt_tensor b);

/* Builds something on the tape from the given inputs. */
typedef tt_var build_fn(tt_tape *tape, const tt_var *input);

/* Checks every gradient of build against central differences, with the loss <W, out>, W random (a
 * loss like sum(out) is constant for softmax and would pass any backward). Signed, relative to the
 * largest gradient of the input or, where that is less, to 1. */
void assert_gradients(build_fn *build, const tt_tensor *inputs, int count, tt_rng *rng);

/* The same for build(x) + build(x), two nodes on one set of inputs: a backward that sets its
 * inputs' gradients where it should add to them is right once and wrong here. */
void assert_gradients_twice(build_fn *build, const tt_tensor *inputs, int count, tt_rng *rng);

/* ---- The program and files ------------------------------------------------------------------- */

/* Paths, as in SCRATCH "run.csv". */
#define SCRATCH TEST_SCRATCH_DIR "/"
#define GOLDEN TEST_GOLDEN_DIR "/"

/* A setting for run_program: a locale with a decimal comma. */
#define COMMA_LOCALE "LC_ALL=comma LOCPATH=" TEST_LOCALES

/* Runs a shell command and returns its exit code; fails the test if a signal ended it. */
int shell(const char *command);

/* Whether Python has NumPy; prints a note if not. */
bool have_numpy(void);

/* Runs the program and returns its exit code and what it wrote, which the next run overwrites. The
 * arguments, a shell text, are made as by printf; the environment is a setting or "". */
enum { CAPTURE = 1 << 16 };
typedef struct captured {
    int code;
    char out[CAPTURE], err[CAPTURE];
} captured;
const captured *run_program(const char *environment, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same without a setting; fails the test unless the exit code is 0. */
const captured *run_well(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with --quiet, --force and --output SCRATCH "name.csv"; fails the test if it writes
 * elsewhere. */
void run_quietly(const char *environment, const char *command, const char *name);

/* Fails unless the program ends with this code, writes nothing and says one line that holds the
 * message. */
void assert_refused(int code, const char *message, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for each case, whose arguments follow those given. */
typedef struct refusal {
    const char *arguments, *message;
} refusal;
void assert_refusals(int code, const char *arguments, const refusal *cases, int count);

/* Fails unless the text holds the part, wherever lines are broken; starts with it; or is one line
 * that holds it. */
void assert_says(const char *text, const char *part);
void assert_starts(const char *text, const char *part);
void assert_one_line(const char *text, const char *part);

/* The whole file; fails the test if it cannot be read. The caller frees. */
char *read_whole(const char *path);

/* Whether figures can be drawn here; notes it where not. */
bool have_gnuplot(void);

/* The SVG that scripts/draw makes of SCRATCH csv, in a locale without UTF-8; fails the test if it
 * says a word. The caller frees. */
char *drawn(const char *figure, const char *csv);

/* Makes the file hold the text. */
void write_text(const char *path, const char *text);

/* Fails unless the two files hold the same bytes. */
void assert_same_file(const char *a, const char *b);

/* The same for each pair of files of two runs, by the runs' names and the files' endings. */
void assert_same_results(const char *a, const char *b, const char *const *ending, int count);

/* Opens a file for reading; fails the test if it cannot. */
FILE *open_file(const char *path);

/* A block "NAME ROWS COLS" of golden/lesson.txt; hexadecimal and decimal numbers alike. */
void read_lesson(const char *name, double *out, int count);

/* Files of one query (1,0), keys (1,0), (0,1) and values (10,0), (0,20), and the options that name
 * them. */
#define WORKED_EXAMPLE "--q " SCRATCH "wq.csv --k " SCRATCH "wk.csv --v " SCRATCH "wv.csv "
void write_worked_example(void);

/* An array of finite floats in a file; both fail the test if they cannot. */
array read_array(const char *path);
void write_array(const char *path, int ndim, const ptrdiff_t *dim, const double *data);

/* ---- CSV tables ------------------------------------------------------------------------------ */

/* Lines of as many cells each, the first of which names the columns. */
typedef struct table {
    int rows, columns;
    char *text;        /* the file, whose commas and line ends are zeros now */
    const char **cell; /* row by row, the names first */
} table;

/* Of a whole text, which the table owns then, or of a file. The caller frees. */
table table_of(char *text);
table table_read(const char *path);
void table_free(table *t);

/* A cell as text or as a number; fails the test without such a column or number. */
const char *table_text(const table *t, int row, const char *column);
double table_number(const table *t, int row, const char *column);

#endif
