/* support.c: see support.h. */
#include "support.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heads/npy.h"
#include "tt/ops.h"

Suite *suite_of(const char *name, const TTest *const *tests, int count, double seconds) {
    Suite *suite = suite_create(name);
    TCase *test_case = tcase_create(name);
    tcase_set_timeout(test_case, seconds);
    for (int i = 0; i < count; i++) tcase_add_test(test_case, tests[i]);
    suite_add_tcase(suite, test_case);
    return suite;
}

void add_loop(Suite *suite, const TTest *test, int count, double seconds) {
    TCase *test_case = tcase_create("loop");
    tcase_set_timeout(test_case, seconds);
    tcase_add_loop_test(test_case, test, 0, count);
    suite_add_tcase(suite, test_case);
}

tt_tensor random_tensor(tt_rng *rng, tt_size batch, tt_size rows, tt_size cols) {
    tt_tensor t = tt_tensor_new(batch, rows, cols);
    ck_assert(t.data != NULL);
    tt_rng_normal(rng, t.data, tt_tensor_count(t));
    return t;
}

void draw_inputs(tt_rng *rng, uint64_t seed, tt_tensor in[3], tt_size b, tt_size tq, tt_size tk,
                 tt_size d_k, tt_size d_v) {
    tt_rng_seed(rng, seed);
    in[0] = random_tensor(rng, b, tq, d_k);
    in[1] = random_tensor(rng, b, tk, d_k);
    in[2] = random_tensor(rng, b, tk, d_v);
}

void free_inputs(tt_tensor in[3]) {
    for (int i = 0; i < 3; i++) tt_tensor_free(&in[i]);
}

const tt_tensor NO_GRAD = {0, 0, 0, NULL};

bool fma_knows_minus_zero(void) {
    volatile double zero = -0.0;
    return signbit(fma(zero, 1, zero)) != 0;
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
    for (int i = 0; i < count; i++) input[i] = tt_param(tape, inputs[i], NO_GRAD);
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

int shell(const char *command) {
    int status = system(command);
    ck_assert_msg(WIFEXITED(status), "did not exit: %s", command);
    return WEXITSTATUS(status);
}

bool have_numpy(void) {
    if (shell("${PYTHON:-python3} -c 'import numpy' 2>/dev/null") == 0) return true;
    puts("note: no NumPy here; that it reads what is written is not tested");
    return false;
}

static void slurp(const char *path, char *to) {
    FILE *from = fopen(path, "r");
    size_t got = from ? fread(to, 1, CAPTURE - 1, from) : 0;
    to[got] = '\0';
    if (from) (void)fclose(from);
    (void)unlink(path);
}

static const captured *run(const char *environment, const char *format, va_list arguments) {
    static captured c;
    char text[4096], command[8192], out[256], err[256];
    (void)vsnprintf(text, sizeof text, format, arguments);
    (void)snprintf(out, sizeof out, SCRATCH "out.%ld", (long)getpid());
    (void)snprintf(err, sizeof err, SCRATCH "err.%ld", (long)getpid());
    (void)snprintf(command, sizeof command, "%s " TEST_PROGRAM " %s >%s 2>%s", environment, text,
                   out, err);
    c.code = shell(command);
    slurp(out, c.out);
    slurp(err, c.err);
    return &c;
}

const captured *run_program(const char *environment, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const captured *c = run(environment, format, arguments);
    va_end(arguments);
    return c;
}

const captured *run_well(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const captured *c = run("", format, arguments);
    va_end(arguments);
    ck_assert_msg(c->code == 0, "%s: exit %d: %s%s", format, c->code, c->out, c->err);
    return c;
}

void run_quietly(const char *environment, const char *command, const char *name) {
    const captured *c =
        run_program(environment, "%s --quiet --force --output " SCRATCH "%s.csv", command, name);
    ck_assert_msg(c->code == 0, "%s: exit %d: %s", command, c->code, c->err);
    ck_assert_str_eq(c->out, "");
    ck_assert_str_eq(c->err, "");
}

static void assert_refusal(const captured *c, int code, const char *message) {
    ck_assert_msg(c->code == code, "'%s': exit %d: %s", message, c->code, c->err);
    ck_assert_str_eq(c->out, "");
    assert_starts(c->err, "sqrtdk: ");
    assert_one_line(c->err, message);
}

void assert_refused(int code, const char *message, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    assert_refusal(run("", format, arguments), code, message);
    va_end(arguments);
}

void assert_refusals(int code, const char *arguments, const refusal *cases, int count) {
    for (int i = 0; i < count; i++)
        assert_refused(code, cases[i].message, "%s %s", arguments, cases[i].arguments);
}

/* A copy in which every stretch of white space is one space; the caller frees. */
static char *unwrapped(const char *text) {
    char *copy = malloc(strlen(text) + 1), *to = copy;
    ck_assert(copy != NULL);
    for (; *text; text++) {
        const bool space = *text == ' ' || *text == '\n';
        if (!space) *to++ = *text;
        if (space && (to == copy || to[-1] != ' ')) *to++ = ' ';
    }
    *to = '\0';
    return copy;
}

void assert_says(const char *text, const char *part) {
    char *said = unwrapped(text), *expected = unwrapped(part);
    ck_assert_msg(strstr(said, expected) != NULL, "'%s' is not in: %.2000s", part, text);
    free(said);
    free(expected);
}

void assert_starts(const char *text, const char *part) {
    ck_assert_msg(strncmp(text, part, strlen(part)) == 0, "expected '%s', found: %.400s", part,
                  text);
}

void assert_one_line(const char *text, const char *part) {
    assert_says(text, part);
    ck_assert_msg(strchr(text, '\n') == text + strlen(text) - 1, "not one line: %s", text);
}

char *read_whole(const char *path) {
    FILE *from = open_file(path);
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

bool have_gnuplot(void) {
    if (shell("command -v gnuplot >/dev/null 2>&1") == 0) return true;
    puts("note: no gnuplot here; what the figures say is not tested");
    return false;
}

char *drawn(const char *figure, const char *csv) {
    char command[512];
    (void)snprintf(command, sizeof command,
                   "LC_ALL=C scripts/draw %s " SCRATCH "%s " SCRATCH "drawn.svg 2>" SCRATCH
                   "drawn.txt",
                   figure, csv);
    ck_assert_int_eq(shell(command), 0);
    char *said = read_whole(SCRATCH "drawn.txt");
    ck_assert_str_eq(said, "");
    free(said);
    return read_whole(SCRATCH "drawn.svg");
}

void write_text(const char *path, const char *text) {
    FILE *to = fopen(path, "w");
    ck_assert_msg(to != NULL, "cannot write %s", path);
    (void)fputs(text, to);
    ck_assert(fclose(to) == 0);
}

void assert_same_file(const char *a, const char *b) {
    FILE *first = open_file(a), *second = open_file(b);
    int x, y;
    do {
        x = fgetc(first);
        y = fgetc(second);
    } while (x == y && x != EOF);
    ck_assert_msg(x == y, "%s and %s differ", a, b);
    (void)fclose(first);
    (void)fclose(second);
}

void assert_same_results(const char *a, const char *b, const char *const *ending, int count) {
    char first[256], second[256];
    for (int i = 0; i < count; i++) {
        (void)snprintf(first, sizeof first, SCRATCH "%s%s", a, ending[i]);
        (void)snprintf(second, sizeof second, SCRATCH "%s%s", b, ending[i]);
        assert_same_file(first, second);
    }
}

FILE *open_file(const char *path) {
    FILE *from = fopen(path, "rb");
    ck_assert_msg(from != NULL, "cannot open %s", path);
    return from;
}

void read_lesson(const char *name, double *out, int count) {
    FILE *from = open_file(GOLDEN "lesson.txt");
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, from))
        found = strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ' ';
    ck_assert_msg(found, "no %s", name);
    for (int i = 0; i < count; i++) ck_assert_int_eq(fscanf(from, "%lf", &out[i]), 1);
    (void)fclose(from);
}

void write_worked_example(void) {
    write_text(SCRATCH "wq.csv", "1,0\n");
    write_text(SCRATCH "wk.csv", "1,0\n0,1\n");
    write_text(SCRATCH "wv.csv", "10,0\n0,20\n");
}

array read_array(const char *path) {
    array a;
    char error[ARRAY_ERROR_SIZE];
    ck_assert_msg(array_file_read(path, ARRAY_FINITE_FLOATS, &a, error, sizeof error), "%s", error);
    return a;
}

void write_array(const char *path, int ndim, const ptrdiff_t *dim, const double *data) {
    FILE *to = fopen(path, "wb");
    ck_assert_msg(to != NULL, "cannot write %s", path);
    ck_assert(npy_write(to, ndim, dim, data));
    ck_assert(fclose(to) == 0);
}

/* ---- CSV tables ------------------------------------------------------------------------------ */

table table_of(char *text) {
    table t = {-1, 0, text, NULL};
    size_t cells = 0;
    for (const char *at = text; *at; at++) cells += *at == ',' || *at == '\n';
    t.cell = calloc(cells + 1, sizeof *t.cell);
    ck_assert(t.cell != NULL);
    for (char *at = text; *at; t.rows++) {
        const char **line = &t.cell[(t.rows + 1) * t.columns];
        int columns = 0;
        for (char end = ','; end == ','; columns++) {
            line[columns] = at;
            at += strcspn(at, ",\n");
            ck_assert_msg(*at != '\0', "the last line has no end: %s", line[columns]);
            end = *at;
            *at++ = '\0';
        }
        if (t.rows < 0) t.columns = columns;
        ck_assert_msg(columns == t.columns, "row %d has %d cells", t.rows, columns);
    }
    return t;
}

table table_read(const char *path) {
    return table_of(read_whole(path));
}

void table_free(table *t) {
    free(t->text);
    free(t->cell);
}

const char *table_text(const table *t, int row, const char *column) {
    int c = 0;
    while (c < t->columns && strcmp(t->cell[c], column) != 0) c++;
    ck_assert_msg(c < t->columns, "no column %s", column);
    return t->cell[(row + 1) * t->columns + c];
}

double table_number(const table *t, int row, const char *column) {
    char *end;
    const char *text = table_text(t, row, column);
    double x = strtod(text, &end);
    ck_assert_msg(end != text && *end == '\0', "row %d, %s: '%s'", row, column, text);
    return x;
}
