/* support.h: what several tests share: random tensors, a numeric gradient, running the program. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <check.h>
#include <stdio.h>

#include "tt/rng.h"
#include "tt/tape.h"

/* A suite with one test case; a minute is for sanitizers and valgrind, not for the tests. */
Suite *suite_of(const char *name, const TTest *const *tests, int count, double seconds);

/* Standard normal entries from the stream; fails the test without memory. Free with
 * tt_tensor_free. */
tt_tensor random_tensor(tt_rng *rng, tt_size batch, tt_size rows, tt_size cols);

void assert_same_bits(tt_tensor a, tt_tensor b);

/* Builds something on the tape from the given inputs. */
typedef tt_var build_fn(tt_tape *tape, const tt_var *input);

/* Checks every gradient of build against central differences, with the loss <W, out>, W random (a
 * loss like sum(out) is constant for softmax and would pass any backward). Signed, relative to the
 * largest gradient of the input. */
void assert_gradients(build_fn *build, const tt_tensor *inputs, int count, tt_rng *rng);

/* The same for build(x) + build(x), two nodes on one set of inputs: a backward that sets its
 * inputs' gradients where it should add to them is right once and wrong here. */
void assert_gradients_twice(build_fn *build, const tt_tensor *inputs, int count, tt_rng *rng);

/* Runs the program with these arguments (a shell text; prefix it with settings as "LC_ALL=C ") and
 * returns its exit code; what it wrote is in the two buffers. */
enum { CAPTURE = 1 << 16 };
typedef struct captured {
    int code;
    char out[CAPTURE], err[CAPTURE];
} captured;
const captured *run_program(const char *environment, const char *arguments);

/* Fails unless the text is one line that holds the part. */
void assert_one_line(const char *text, const char *part);

/* The whole file; fails the test if it cannot be read. The caller frees. */
char *read_whole(const char *path);

/* Fails unless the two files hold the same bytes. */
void assert_same_file(const char *a, const char *b);

/* Opens a file of reference data. */
FILE *open_golden(const char *name);

#endif
