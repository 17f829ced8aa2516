/* support.c: see support.h. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tt/ops.h"

Suite *suite_of(const char *name, const TTest *const *tests, int count, double seconds) {
    Suite *suite = suite_create(name);
    TCase *test_case = tcase_create(name);
    tcase_set_timeout(test_case, seconds);
    for (int i = 0; i < count; i++) tcase_add_test(test_case, tests[i]);
    suite_add_tcase(suite, test_case);
    return suite;
}

tt_tensor random_tensor(tt_rng *rng, tt_size batch, tt_size rows, tt_size cols) {
    tt_tensor t = tt_tensor_new(batch, rows, cols);
    ck_assert(t.data != NULL);
    tt_rng_normal(rng, t.data, tt_tensor_count(t));
    return t;
}

void assert_same_bits(tt_tensor a, tt_tensor b) {
    ck_assert_int_eq(tt_tensor_count(a), tt_tensor_count(b));
    ck_assert(memcmp(a.data, b.data, (size_t)tt_tensor_count(a) * sizeof(double)) == 0);
}

/* ---- Numeric gradients ----------------------------------------------------------------------- */

static double loss_of(build_fn *build, const tt_tensor *inputs, int count, tt_tensor w) {
    tt_var input[TT_MAX_INPUTS];
    tt_tape *tape = tt_tape_new();
    for (int i = 0; i < count; i++) input[i] = tt_const(tape, inputs[i]);
    tt_var loss = tt_dot(tape, build(tape, input), w);
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
    double value = tt_value(tape, loss).data[0];
    tt_tape_free(tape);
    return value;
}

/* f'(x) by central differences: error h^2 f'''/6 + eps f / h, least near h = eps^(1/3) = 6e-6. */
static double numeric(build_fn *build, const tt_tensor *inputs, int count, tt_tensor w, double *x) {
    const double h = 6e-6, start = *x;
    *x = start + h;
    double above = loss_of(build, inputs, count, w);
    *x = start - h;
    double below = loss_of(build, inputs, count, w);
    *x = start;
    return (above - below) / (2 * h);
}

static double largest(tt_tensor t) {
    double most = 0;
    for (tt_size i = 0; i < tt_tensor_count(t); i++) most = fmax(most, fabs(t.data[i]));
    return most;
}

void assert_gradients(build_fn *build, const tt_tensor *inputs, int count, tt_rng *rng) {
    tt_var input[TT_MAX_INPUTS];
    tt_tape *tape = tt_tape_new();
    for (int i = 0; i < count; i++)
        input[i] = tt_param(tape, inputs[i], (tt_tensor){0, 0, 0, NULL});
    tt_var out = build(tape, input);
    tt_tensor shape = tt_value(tape, out);
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
    tt_tensor w = random_tensor(rng, shape.batch, shape.rows, shape.cols);
    tt_backward(tape, tt_dot(tape, out, w));
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
    for (int i = 0; i < count; i++) {
        tt_tensor grad = tt_grad(tape, input[i]);
        /* 1e-8 of the tensor's largest gradient: 100 times the least error of central differences
         * of functions with values and derivatives of order 1 to 10 */
        double allowed = 1e-8 * fmax(1, largest(grad));
        ck_assert(largest(grad) > 1e-3);
        for (tt_size j = 0; j < tt_tensor_count(grad); j++) {
            double expected = numeric(build, inputs, count, w, &inputs[i].data[j]);
            ck_assert_msg(fabs(grad.data[j] - expected) <= allowed,
                          "input %d, element %td: analytic %.17g, numeric %.17g, allowed %g", i, j,
                          grad.data[j], expected, allowed);
        }
    }
    tt_tensor_free(&w);
    tt_tape_free(tape);
}

static build_fn *built_twice;

static tt_var build_twice(tt_tape *tape, const tt_var *input) {
    tt_var one = built_twice(tape, input);
    return tt_add(tape, one, built_twice(tape, input));
}

void assert_gradients_twice(build_fn *build, const tt_tensor *inputs, int count, tt_rng *rng) {
    built_twice = build;
    assert_gradients(build_twice, inputs, count, rng);
}

/* ---- The program and files ------------------------------------------------------------------- */

static void slurp(const char *path, char *to) {
    FILE *from = fopen(path, "r");
    size_t got = from ? fread(to, 1, CAPTURE - 1, from) : 0;
    to[got] = '\0';
    if (from) (void)fclose(from);
    (void)unlink(path);
}

const captured *run_program(const char *environment, const char *arguments) {
    static captured c;
    char command[4096], out[256], err[256];
    (void)snprintf(out, sizeof out, "%s/out.%ld", TEST_SCRATCH_DIR, (long)getpid());
    (void)snprintf(err, sizeof err, "%s/err.%ld", TEST_SCRATCH_DIR, (long)getpid());
    (void)snprintf(command, sizeof command, "%s %s %s >%s 2>%s", environment, TEST_PROGRAM,
                   arguments, out, err);
    int status = system(command);
    ck_assert_msg(WIFEXITED(status), "did not exit: %s", command);
    c.code = WEXITSTATUS(status);
    slurp(out, c.out);
    slurp(err, c.err);
    return &c;
}

void assert_one_line(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in: %s", part, text);
    ck_assert_msg(strchr(text, '\n') == text + strlen(text) - 1, "not one line: %s", text);
}

char *read_whole(const char *path) {
    FILE *from = fopen(path, "rb");
    ck_assert_msg(from != NULL, "cannot open %s", path);
    ck_assert(fseek(from, 0, SEEK_END) == 0);
    long size = ftell(from);
    ck_assert(size >= 0);
    rewind(from);
    char *text = malloc((size_t)size + 1);
    ck_assert(text != NULL);
    ck_assert_int_eq((long)fread(text, 1, (size_t)size, from), size);
    text[size] = '\0';
    (void)fclose(from);
    return text;
}

void assert_same_file(const char *a, const char *b) {
    char *first = read_whole(a), *second = read_whole(b);
    ck_assert_msg(strcmp(first, second) == 0, "%s and %s differ", a, b);
    free(first);
    free(second);
}

FILE *open_golden(const char *name) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", TEST_GOLDEN_DIR, name);
    FILE *from = fopen(path, "r");
    ck_assert_msg(from != NULL, "cannot open %s", path);
    return from;
}
