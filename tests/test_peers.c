/* test_peers.c: attention as others define it: the cases of ONNX's operator Attention, derived from
 * its description (scripts/golden/make_onnx_cases.py), and, where PyTorch is, its autograd and what
 * a model's attention was given.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"
#include "support.h"
#include "tt/attention.h"

#define ONNX GOLDEN "onnx/"

enum { NAME = 64, PATH = 256, OPTIONS = 256, CASES = 20 };

/* ---- ONNX ------------------------------------------------------------------------------------ */

typedef struct onnx_case {
    char name[NAME], options[OPTIONS]; /* as in index.txt, @ replaced by the case's folder */
    array q, k, v, seen, weights, y;
} onnx_case;

static array read_part(const char *name, const char *part) {
    char path[PATH], error[ARRAY_ERROR_SIZE];
    array a;
    (void)snprintf(path, sizeof path, ONNX "%s/%s.npy", name, part);
    ck_assert_msg(array_file_read(path, ARRAY_ALLOW_INTEGERS, &a, error, sizeof error), "%s",
                  error);
    ck_assert_int_eq(a.ndim, 4);
    return a;
}

static void read_options(const char *line, onnx_case *c) {
    const char *at = strchr(line, '@');
    if (at)
        (void)snprintf(c->options, sizeof c->options, "%.*s" ONNX "%s%s", (int)(at - line), line,
                       c->name, at + 1);
    else
        (void)snprintf(c->options, sizeof c->options, "%s", line);
}

static onnx_case read_onnx(int number) {
    onnx_case c;
    char line[OPTIONS];
    FILE *index = open_file(ONNX "index.txt");
    for (int i = 0; i <= number; i++) ck_assert_ptr_nonnull(fgets(line, sizeof line, index));
    ck_assert_msg(number < CASES - 1 || fgetc(index) == EOF, "more than %d cases", CASES);
    (void)fclose(index);
    ck_assert_int_eq(sscanf(line, "%63s", c.name), 1);
    line[strcspn(line, "\n")] = '\0';
    read_options(line + strlen(c.name), &c);
    c.q = read_part(c.name, "q");
    c.k = read_part(c.name, "k");
    c.v = read_part(c.name, "v");
    c.seen = read_part(c.name, "seen");
    c.weights = read_part(c.name, "weights");
    c.y = read_part(c.name, "y");
    return c;
}

static void free_onnx(onnx_case *c) {
    array *all[] = {&c->q, &c->k, &c->v, &c->seen, &c->weights, &c->y};
    for (int i = 0; i < LENGTH(all); i++) array_free(all[i]);
}

/* 1e-14: sums of at most 7 terms of order 1, each rounded in another order than there. */
static void assert_near(const onnx_case *c, const char *what, const double *got,
                        const double *expected, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++)
        ck_assert_msg(fabs(got[i] - expected[i]) <= 1e-14,
                      "%s, %s [%td]: got %.17g, expected %.17g", c->name, what, i, got[i],
                      expected[i]);
}

START_TEST(the_program_gives_the_weights_of_onnx_attention) {
    onnx_case c = read_onnx(_i);
    (void)run_well("inspect --quiet --q " ONNX "%s/q.npy --k " ONNX
                   "%s/k.npy %s --save-weights " SCRATCH "onnx.npy --force --output " SCRATCH
                   "onnx.csv",
                   c.name, c.name, c.options);
    array got = read_array(SCRATCH "onnx.npy");
    ck_assert_int_eq(array_count(&got), array_count(&c.weights));
    assert_near(&c, "weights", got.data, c.weights.data, array_count(&got));
    array_free(&got);
    free_onnx(&c);
}
END_TEST

/* Matrix e of an array [B,H,T,d]. */
static tt_tensor matrix(const array *a, ptrdiff_t e) {
    return tt_tensor_view(a->data + e * a->dim[2] * a->dim[3], 1, a->dim[2], a->dim[3]);
}

/* The number behind --scale, or that of the operator's default. */
static double scale_of(const onnx_case *c) {
    const char *at = strstr(c->options, "--scale ");
    return at ? strtod(at + strlen("--scale "), NULL) : 1 / sqrt((double)c->q.dim[3]);
}

START_TEST(the_library_gives_the_output_of_onnx_attention) {
    onnx_case c = read_onnx(_i);
    const ptrdiff_t group = c.q.dim[1] / c.k.dim[1], size = c.seen.dim[2] * c.seen.dim[3];
    unsigned char *seen = malloc((size_t)size);
    tt_tape *tape = tt_tape_new();
    for (ptrdiff_t e = 0; e < c.q.dim[0] * c.q.dim[1]; e++) {
        for (ptrdiff_t i = 0; i < size; i++) seen[i] = c.seen.data[e * size + i] != 0;
        tt_tape_reset(tape);
        const tt_var out = tt_attention(
            tape, tt_const(tape, matrix(&c.q, e)), tt_const(tape, matrix(&c.k, e / group)),
            tt_const(tape, matrix(&c.v, e / group)),
            (tt_attention_options){.scale = scale_of(&c), .mask = {.allowed = seen}});
        ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
        assert_near(&c, "output", tt_value(tape, out).data, matrix(&c.y, e).data,
                    c.y.dim[2] * c.y.dim[3]);
    }
    tt_tape_free(tape);
    free(seen);
    free_onnx(&c);
}
END_TEST

/* ---- PyTorch --------------------------------------------------------------------------------- */

static bool have_torch(void) {
    if (shell("${PYTHON:-python3} -c 'import torch' 2>/dev/null") == 0) return true;
    puts("note: no PyTorch here; that it gives the same and that a model is dumped are not tested");
    return false;
}

/* Runs a script on the program; what it says is shown where it fails. */
static void run_python(const char *script) {
    char command[2 * PATH];
    (void)snprintf(command, sizeof command,
                   "${PYTHON:-python3} %s >" SCRATCH "python.txt 2>&1 || { cat " SCRATCH
                   "python.txt; exit 1; }",
                   script);
    ck_assert_int_eq(shell(command), 0);
}

START_TEST(twenty_configurations_are_those_of_pytorchs_autograd) {
    if (have_torch())
        run_python("scripts/check_torch.py --configurations 20 --program " TEST_PROGRAM);
}
END_TEST

START_TEST(what_a_model_attended_with_is_dumped_and_read_back) {
    if (have_torch()) run_python("tests/python/test_dump_attention.py " TEST_PROGRAM);
}
END_TEST

Suite *peers_suite(void) {
    const TTest *tests[] = {twenty_configurations_are_those_of_pytorchs_autograd,
                            what_a_model_attended_with_is_dumped_and_read_back};
    Suite *suite = suite_of("peers", tests, LENGTH(tests), 300);
    add_loop(suite, the_program_gives_the_weights_of_onnx_attention, CASES, 60);
    add_loop(suite, the_library_gives_the_output_of_onnx_attention, CASES, 60);
    return suite;
}
