/* test_trace.c: the lessons print what they should, and trace refuses what it cannot show. */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heads/head_stats.h"
#include "heads/npy.h"
#include "suites.h"
#include "support.h"
#include "trace/lessons.h"

/* ---- The lessons ----------------------------------------------------------------------------- */

static void assert_prints(const char *arguments, const char *golden) {
    const captured *c = run_well("%s", arguments);
    ck_assert_str_eq(c->err, "");
    char *expected = read_whole(golden);
    ck_assert_str_eq(c->out, expected);
    free(expected);
}

START_TEST(every_lesson_prints_its_golden_text) {
    assert_prints("trace --lesson soft-lookup --backward", GOLDEN "trace/soft-lookup.txt");
    assert_prints("trace --lesson five-tokens --backward", GOLDEN "trace/five-tokens.txt");
    assert_prints("trace --lesson batch --backward", GOLDEN "trace/batch.txt");
    assert_prints("trace --lesson one-hot --backward", GOLDEN "trace/one-hot.txt");
}
END_TEST

START_TEST(markdown_is_headings_and_tables) {
    assert_prints("trace --format markdown", GOLDEN "trace/soft-lookup.md");
}
END_TEST

static void assert_drawn(const char *name, const double *drawn, int count) {
    double expected[15];
    read_lesson(name, expected, count);
    ck_assert(memcmp(drawn, expected, (size_t)count * sizeof *drawn) == 0);
}

START_TEST(five_tokens_starts_from_the_bits_that_pytorch_draws) {
    five_tokens f;
    ck_assert(five_tokens_new(&f));
    assert_drawn("X", f.x, 15);
    assert_drawn("W_q", f.w_q, 9);
    assert_drawn("W_k", f.w_k, 9);
    assert_drawn("W_v", f.w_v, 9);
}
END_TEST

/* The numbers printed below `heading` and then `title`, against a block of the reference. */
static void assert_block(const char *out, const char *heading, const char *title, const char *name,
                         int count) {
    double expected[25];
    read_lesson(name, expected, count);
    const char *at = strstr(out, heading);
    at = at ? strstr(at, title) : NULL;
    ck_assert_msg(at != NULL, "no %s, %s", heading, title);
    at = strchr(at, '\n');
    for (int i = 0; i < count; i++) {
        char *end;
        double x = strtod(at, &end);
        ck_assert_msg(end != at, "%s: %d numbers", name, i);
        at = end;
        /* printed with 10 digits: 5e-11; the rest is a few roundings of numbers up to 3 */
        ck_assert_msg(fabs(x - expected[i]) <= 5.1e-11, "%s[%d]: %.17g, expected %.17g", name, i, x,
                      expected[i]);
    }
}

START_TEST(five_tokens_prints_the_reference_numbers) {
    const captured *c = run_well("trace --lesson five-tokens --digits 10");
    assert_block(c->out, "1. ", "Q [5,3]", "Q", 15);
    assert_block(c->out, "1. ", "K [5,3]", "K", 15);
    assert_block(c->out, "1. ", "V [5,3]", "V", 15);
    assert_block(c->out, "2. ", "S = Q K^T [5,5]", "scores", 25);
    assert_block(c->out, "3. ", "with sqrt [5,5]", "scaled", 25);
    assert_block(c->out, "6. ", "with sqrt [5,5]", "weights", 25);
    assert_block(c->out, "7. ", "with sqrt [5,3]", "output", 15);
}
END_TEST

/* ---- Own input ------------------------------------------------------------------------------- */

START_TEST(own_files_are_traced_as_a_lesson_is) {
    write_worked_example();
    char *expected = read_whole(GOLDEN "trace/soft-lookup.txt");
    const captured *c = run_well("trace " WORKED_EXAMPLE "--backward");
    const char *got = strstr(c->out, "1. "), *from = strstr(expected, "1. ");
    ck_assert(got && from);
    ck_assert_str_eq(got, from);
    free(expected);
}
END_TEST

START_TEST(a_gradient_of_the_output_is_read_and_implies_backward) {
    write_worked_example();
    write_text(SCRATCH "wdo.csv", "2,0\n");
    const captured *c = run_well("trace " WORKED_EXAMPLE "--do " SCRATCH "wdo.csv");
    /* dP = dO V^T = (20, 0) */
    assert_says(c->out, "dP [1,2]\n  20.0000   0.0000\n");
}
END_TEST

/* The next n numbers of a table in Markdown; returns where they end. */
static const char *row_below(const char *at, double *out, int n) {
    char *end;
    for (int j = 0; j < n; j++, at = end) {
        at += strspn(at, " |\n");
        out[j] = strtod(at, &end);
        ck_assert_msg(end != at, "%d numbers: %.40s", j, at);
    }
    return at;
}

/* Where the numbers of the first matrix below a heading start. */
static const char *below(const char *out, const char *heading) {
    const char *at = strstr(out, heading);
    at = at ? strstr(at, ":|\n") : NULL;
    ck_assert_msg(at != NULL, "no %s", heading);
    return at + strlen(":|\n");
}

START_TEST(weights_are_the_exponentials_over_their_rows_sum) {
    enum { ROWS = 8, KEYS = 11 }; /* more keys than lanes; weights up to 0.2 */
    double q[ROWS * 2], k[KEYS * 2], e[KEYS], p[KEYS], sum;
    for (int i = 0; i < ROWS * 2; i++) q[i] = 0.4 + 0.05 * i;
    for (int i = 0; i < KEYS * 2; i++) k[i] = 0.1 * ((7 * i) % 11);
    write_array(SCRATCH "eq.npy", 2, (ptrdiff_t[]){ROWS, 2}, q);
    write_array(SCRATCH "ek.npy", 2, (ptrdiff_t[]){KEYS, 2}, k);
    const captured *c = run_well("trace --q " SCRATCH "eq.npy --k " SCRATCH "ek.npy --v " SCRATCH
                                 "ek.npy --digits 17 --format markdown");
    const char *of_e = below(c->out, "4. E"), *of_sum = below(c->out, "5. The sum"),
               *of_p = below(c->out, "6. Weights");
    for (int i = 0; i < ROWS; i++) {
        of_e = row_below(of_e, e, KEYS);
        of_sum = row_below(of_sum, &sum, 1);
        of_p = row_below(of_p, p, KEYS);
        /* P is printed to 5e-18 and read to 3.5e-18; a sum in another order moves it by more */
        for (int j = 0; j < KEYS; j++) ck_assert(fabs(p[j] - e[j] / sum) <= 9e-18);
    }
}
END_TEST

/* Three queries and keys, scale 1: E by hand. */
START_TEST(a_masked_key_has_no_part_in_the_rows_sum) {
    write_text(SCRATCH "mq.csv", "1\n1\n1\n");
    write_text(SCRATCH "mk.csv", "0\n1\n3\n");
    const captured *c = run_well("trace --causal --scale none --q " SCRATCH "mq.csv --k " SCRATCH
                                 "mk.csv --v " SCRATCH "mk.csv");
    assert_says(c->out, "\"-\": masked; such a key has no part in what follows.\n");
    assert_says(c->out, "without the scale [3,3]\n"
                        "  1.0000       -       -\n"
                        "  0.3679  1.0000       -\n"
                        "  0.0498  0.1353  1.0000\n");
    assert_says(c->out, "without the scale [3,1]\n  1.0000\n  1.3679\n  1.1851\n");
    assert_says(run_well("trace")->out, "4. E = exp(Z - max)");
    ck_assert(strstr(run_well("trace")->out, "masked") == NULL);
}
END_TEST

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (; (text = strstr(text, part)); text++) count++;
    return count;
}

START_TEST(chosen_heads_are_traced_in_every_batch_entry) {
    static double zeros[2 * 3 * 2 * 2];
    write_array(SCRATCH "hq.npy", 4, (ptrdiff_t[]){2, 3, 2, 2}, zeros);
    const char *files = "--q " SCRATCH "hq.npy --k " SCRATCH "hq.npy --v " SCRATCH "hq.npy";
    const captured *c = run_well("trace %s --heads 2,0", files);
    assert_says(c->out, "Batch entry 0, head 0\n");
    assert_says(c->out, "Batch entry 0, head 2\n");
    assert_says(c->out, "Batch entry 1, head 0\n");
    assert_says(c->out, "Batch entry 1, head 2\n");
    ck_assert_int_eq(count_of(c->out, "Batch entry"), 4);
    ck_assert_int_eq(count_of(run_well("trace %s", files)->out, "Batch entry"), 6);
    assert_refused(2, "--heads: 3, but " SCRATCH "hq.npy has heads 0 to 2", "trace %s --heads 3",
                   files);
}
END_TEST

START_TEST(masked_entries_are_dashes_and_the_corner_is_named) {
    write_worked_example();
    const captured *c = run_well("trace " WORKED_EXAMPLE "--mask causal-top-left");
    assert_says(c->out, "S = Q K^T [1,2]\n  1.0000       -\n");
    c = run_well("trace " WORKED_EXAMPLE "--mask causal-bottom-right");
    assert_says(c->out, "S = Q K^T [1,2]\n  1.0000  0.0000\n");
}
END_TEST

START_TEST(columns_that_a_line_does_not_hold_follow_in_blocks) {
    const captured *c = run_well("trace --lesson five-tokens --digits 17 --backward");
    assert_says(c->out, "S = Q K^T [5,5], columns 1 to 3\n   0.6560");
    assert_says(c->out, "S = Q K^T [5,5], columns 4 to 5\n   0.0095");
    ck_assert(!strstr(c->out, "shown: the first"));
}
END_TEST

START_TEST(the_mask_of_a_lesson_and_a_number_for_a_rule_are_said) {
    const captured *c = run_well("trace --lesson batch --scale 0.5 --causal");
    assert_says(c->out, "\nMask: causal-top-left\n");
    assert_says(c->out, "with 0.5: Z = 0.5 q.k, d_k = 4\n");
    c = run_well("trace --lesson batch");
    ck_assert(!strstr(c->out, "Mask:"));
}
END_TEST

START_TEST(a_rule_that_divides_by_norms_says_so) {
    write_worked_example();
    const captured *c = run_well("trace " WORKED_EXAMPLE "--scale cosine --backward");
    assert_says(c->out, "12. The rule divides by norms");
    ck_assert(strstr(c->out, "dS = dZ times") == NULL);
}
END_TEST

#define REAL GOLDEN "real/layer0_"
#define REAL_FILES "--q " REAL "q.npy --k " REAL "k.npy --v " REAL "v.npy --causal "

START_TEST(no_line_is_wider_than_100_columns) {
    static const char *const DIGITS[] = {"1", "4", "17"};
    for (int d = 0; d < LENGTH(DIGITS); d++) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       "%s trace " REAL_FILES "--backward --digits %s | awk "
                       "'length($0) > 100 || / $/ { wide = 1 } END { exit wide || NR < 100 }'",
                       TEST_PROGRAM, DIGITS[d]);
        ck_assert_msg(shell(command) == 0, "--digits %s", DIGITS[d]);
    }
}
END_TEST

START_TEST(the_locale_changes_nothing) {
    const captured *c = run_program("LC_ALL=C", "trace --lesson five-tokens");
    char *point = strdup(c->out);
    ck_assert(point != NULL);
    c = run_program(COMMA_LOCALE, "trace --lesson five-tokens");
    ck_assert_str_eq(c->out, point);
    free(point);
}
END_TEST

/* ---- Highlighting ---------------------------------------------------------------------------- */

/* Both ends of a pseudo-terminal; false, with a note, in a container that has none. */
static bool open_terminal(int *terminal, int *other) {
    *terminal = posix_openpt(O_RDWR | O_NOCTTY);
    *other = *terminal >= 0 && grantpt(*terminal) == 0 && unlockpt(*terminal) == 0
                 ? open(ptsname(*terminal), O_RDWR | O_NOCTTY)
                 : -1;
    if (*other >= 0) return true;
    puts("note: no pseudo-terminal here; highlighting on a terminal is not tested");
    if (*terminal >= 0) (void)close(*terminal);
    return false;
}

/* Whether the program marks anything when its output is this terminal. */
static bool marks_on_a_terminal(int terminal, int other, const char *no_color) {
    char text[4096];
    bool marked = false;
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        (void)setenv("TERM", "xterm", 1);
        (void)setenv("NO_COLOR", no_color, 1);
        (void)dup2(other, STDOUT_FILENO);
        (void)execl(TEST_PROGRAM, TEST_PROGRAM, "trace", (char *)NULL);
        _exit(99);
    }
    (void)close(other);
    for (ssize_t got; (got = read(terminal, text, sizeof text - 1)) > 0;) {
        text[got] = '\0';
        marked = marked || strstr(text, "\033[7m") != NULL;
    }
    int status;
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(terminal);
    return marked;
}

START_TEST(only_a_terminal_gets_marks_and_no_color_is_respected) {
    int terminal, other;
    if (open_terminal(&terminal, &other)) ck_assert(marks_on_a_terminal(terminal, other, ""));
    if (open_terminal(&terminal, &other)) ck_assert(!marks_on_a_terminal(terminal, other, "1"));
    ck_assert(strchr(run_program("NO_COLOR=", "trace")->out, '\033') == NULL);
}
END_TEST

/* ---- Statistics of rows ---------------------------------------------------------------------- */

START_TEST(rows_with_one_key_count_but_not_in_the_normalised_entropy) {
    /* row 0 sees one key; row 1 two alike */
    double logits[] = {5, 99, 1, 1}, weights[] = {1, 0, 0.5, 0.5};
    tt_mask mask = {TT_CAUSAL_TOP_LEFT, NULL, NULL};
    head_stats s;
    ck_assert(head_stats_compute(&mask, tt_tensor_view(logits, 1, 2, 2),
                                 tt_tensor_view(weights, 1, 2, 2), &s));
    ck_assert_int_eq(s.rows, 2);
    ck_assert_double_eq_tol(s.value[HEAD_ENTROPY], log(2) / 2, 1e-15); /* a rounding or two */
    ck_assert_double_eq_tol(s.value[HEAD_ENTROPY_NORMALISED], 1, 1e-15);
    ck_assert(s.value[HEAD_LOGIT_SPREAD] == 0);
    ck_assert(s.value[HEAD_JACOBIAN_TINY] == 0.5);
}
END_TEST

START_TEST(rows_without_a_key_count_nowhere) {
    double logits[] = {1, 3, 7, 7}, weights[] = {0, 0, 0, 0};
    unsigned char allowed[] = {0, 0, 0, 0};
    tt_mask mask = {TT_CAUSAL_NONE, NULL, allowed};
    head_stats s;
    ck_assert(head_stats_compute(&mask, tt_tensor_view(logits, 1, 2, 2),
                                 tt_tensor_view(weights, 1, 2, 2), &s));
    ck_assert_int_eq(s.rows, 0);
    ck_assert(isnan(s.value[HEAD_ENTROPY]) && isnan(s.value[HEAD_JACOBIAN_MEDIAN]));
}
END_TEST

/* ---- Bad input ------------------------------------------------------------------------------- */

/* Refused where the numbers are known, below what is printed by then. */
static void assert_stops(int code, const char *message, const char *arguments) {
    const captured *c = run_program("", "trace %s", arguments);
    ck_assert_int_eq(c->code, code);
    assert_one_line(c->err, message);
}

START_TEST(wrong_usage_is_one_line_and_exit_2) {
    static const refusal CASES[] = {
        {"--lesson two", "--lesson 'two': expected soft-lookup, five-tokens, batch or one-hot"},
        {"--digits 0", "--digits '0': expected a whole number from 1 to 17"},
        {"--digits 18", "--digits '18': expected a whole number from 1 to 17"},
        {"--format html", "--format 'html': expected text or markdown"},
        {"--scale no-such-rule", "--scale 'no-such-rule': expected"},
        {"--scale sqrt,none", "--scale 'sqrt,none': expected one rule or number"},
        {"--mask causal", "--mask 'causal': expected none, causal-top-left or causal-bottom-right"},
        {"--causal --mask none", "--causal and --mask none: expected one of them"},
        {"--q a.npy", "own input: expected --q, --k and --v"},
        {"--lesson batch --q a.npy", "expected a lesson or files"},
        {"--allowed a.npy",
         "--key-lengths, --allowed, --hidden, --mask-additive and --bf16: expected with --q"},
        {"--heads 0", "--heads: expected with --q, --k and --v; a lesson has one head"},
        {"--q a --k b --v c --heads 1,1", "--heads '1,1': 1 stands there twice"},
        {"--lessons batch", "did you mean --lesson?"},
    };
    assert_refusals(2, "trace", CASES, LENGTH(CASES));
    write_worked_example();
    assert_refused(2, "--causal with 1 queries and 2 keys: expected --mask causal-top-left",
                   "trace --causal");
    assert_refused(2, "or --mask causal-bottom-right", "trace --lesson one-hot --causal");
    assert_refused(2, "--causal with 1 queries and 2 keys", "trace " WORKED_EXAMPLE "--causal");
    assert_refused(2, "--heads: 1, but " SCRATCH "wq.csv has heads 0 to 0",
                   "trace " WORKED_EXAMPLE "--heads 1");
}
END_TEST

START_TEST(a_product_beyond_the_range_of_a_double_is_refused) {
    write_worked_example();
    write_text(SCRATCH "wq.csv", "1e200,0\n");
    write_text(SCRATCH "wk.csv", "1,0\n1e200,1\n");
    assert_stops(1, "the logit of query 0 and key 1 (with sqrt) is beyond the range",
                 WORKED_EXAMPLE);
}
END_TEST

START_TEST(a_full_disk_is_said) {
    if (access("/dev/full", W_OK) != 0) return; /* Linux has it */
    ck_assert_int_eq(shell(TEST_PROGRAM " trace >/dev/full 2>/dev/null"), 1);
}
END_TEST

Suite *trace_suite(void) {
    const TTest *tests[] = {every_lesson_prints_its_golden_text,
                            markdown_is_headings_and_tables,
                            five_tokens_starts_from_the_bits_that_pytorch_draws,
                            five_tokens_prints_the_reference_numbers,
                            own_files_are_traced_as_a_lesson_is,
                            a_gradient_of_the_output_is_read_and_implies_backward,
                            weights_are_the_exponentials_over_their_rows_sum,
                            a_masked_key_has_no_part_in_the_rows_sum,
                            chosen_heads_are_traced_in_every_batch_entry,
                            masked_entries_are_dashes_and_the_corner_is_named,
                            columns_that_a_line_does_not_hold_follow_in_blocks,
                            the_mask_of_a_lesson_and_a_number_for_a_rule_are_said,
                            a_rule_that_divides_by_norms_says_so,
                            no_line_is_wider_than_100_columns,
                            the_locale_changes_nothing,
                            only_a_terminal_gets_marks_and_no_color_is_respected,
                            rows_with_one_key_count_but_not_in_the_normalised_entropy,
                            rows_without_a_key_count_nowhere,
                            wrong_usage_is_one_line_and_exit_2,
                            a_product_beyond_the_range_of_a_double_is_refused,
                            a_full_disk_is_said};
    return suite_of("trace", tests, LENGTH(tests), 60);
}
