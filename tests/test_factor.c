/* test_factor.c: which factor and mask weights and outputs were made with, and what is said where
 * they do not tell. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "factor_cases.h"
#include "inspect/factor_mask.h"
#include "suites.h"
#include "support.h"

#define REAL GOLDEN "real/layer"
#define LAYER_0 "inspect --q " REAL "0_q.npy --k " REAL "0_k.npy "
#define SAID "--force --output " SCRATCH "factor.csv "

/* ---- Made heads ------------------------------------------------------------------------------ */

/* One layer of each kind, format and mask; tests/calibrate/factors.c has thousands. */
static void assert_cases(int kind, int outputs) {
    for (int i = 0; format_at(i); i++)
        for (int mask = 0; mask < (outputs ? CASE_KNOWN_MASKS : CASE_MASKS); mask++) {
            factor_tally t = {0};
            factor_cases_run(kind, mask, format_at(i), outputs, 1, 3, &t);
            ck_assert_msg(
                factor_tally_wrong(&t, kind) == 0 && t.outside == 0,
                "%s, %s, mask %s, outputs %d: %d of %d found, %d not, %d outside, %d misnamed",
                factor_case_name(kind), format_name(i), factor_case_mask(mask), outputs, t.found,
                t.heads, t.none, t.outside, t.misnamed);
        }
}

START_TEST(weights_tell_the_factor_the_rule_and_the_mask) {
    assert_cases(_i, 0);
}
END_TEST

START_TEST(outputs_tell_the_factor_and_the_rule) {
    assert_cases(_i, 1);
}
END_TEST

/* ---- A real head ----------------------------------------------------------------------------- */

/* What is said of the weights that layer 0 has under these options. */
static const captured *said_of(const char *made, const char *asked) {
    (void)run_well(LAYER_0 "--force --output " SCRATCH "made.csv --save-weights " SCRATCH
                           "factor_w.npy %s",
                   made);
    return run_well(LAYER_0 SAID "--weights " SCRATCH "factor_w.npy %s", asked);
}

START_TEST(a_factor_is_said_with_its_meaning) {
    assert_says(said_of("--causal", "--causal")->out, "= 1/sqrt(8), of the head's width d_k. Mask: "
                                                      "causal.");
    assert_says(said_of("--scale none", "")->out, "all 8 heads: scale 1 +- ");
    assert_says(said_of("--scale none", "")->out, ": no 1/sqrt(8) is applied. Mask: none.");
    /* 8 heads of width 8: 1/d_k and 1/sqrt(8 8) are one number */
    assert_says(
        said_of("--scale linear", "")->out,
        "= 1/8: 1/sqrt(d_k) applied twice, or the rule linear; or 1/sqrt(64), of all heads'");
    assert_says(said_of("--scale 0.03608439182435161", "--d-model 768")->out,
                "= 1/sqrt(768), of the model's width, not the head's.");
    assert_says(said_of("--scale 0.3", "")->out, ", none of the usual numbers.");
}
END_TEST

START_TEST(a_rule_is_said_where_no_factor_fits) {
    assert_says(said_of("--scale cosine", "")->out, "all 8 heads: the rule cosine, log2(n^2 - n)");
    assert_says(said_of("--scale log --causal", "")->out, "all 8 heads: the rule log, ");
    assert_says(said_of("--scale keys --causal", "")->out, "all 8 heads: the rule keys, ");
}
END_TEST

START_TEST(what_the_options_say_is_contradicted) {
    const char *text = said_of("--causal --scale 0.125", "--scale sqrt")->out;
    assert_says(text, "This is not --scale sqrt, 0.3536, of which the tables are (8 of 8 heads).");
    assert_says(text, "36480 weights contradict the mask of the options."); /* 8 heads, 96 95 / 2 */
    ck_assert(strstr(said_of("--causal", "--causal")->out, "This is not") == NULL);
}
END_TEST

START_TEST(one_wrong_weight_is_found) {
    (void)said_of("", "");
    array w = read_array(SCRATCH "factor_w.npy");
    w.data[(5 * 96 + 40) * 96 + 7] *= 1 + 1e-9; /* 10^7 roundings */
    write_array(SCRATCH "factor_w.npy", w.ndim, w.dim, w.data);
    array_free(&w);
    const captured *c = run_well(LAYER_0 SAID "--weights " SCRATCH "factor_w.npy");
    assert_says(c->out, "heads 0, 1, 2, 3, 4, 6, 7: scale 0.35355339");
    assert_says(c->out, "head 5: no single factor fits, and none of the rules: at the nearest, "
                        "0.3536, head 5 is off by ");
    assert_says(c->out, "roundings at query 40, key 7.");
    table t = table_read(SCRATCH "factor_factor.csv");
    ck_assert_int_eq(t.rows, 9);
    ck_assert_str_eq(table_text(&t, 5, "verdict"), "none fits");
    ck_assert_str_eq(table_text(&t, 4, "number"), "sqrt");
    ck_assert_str_eq(table_text(&t, 8, "head"), "all");
    table_free(&t);
}
END_TEST

START_TEST(rows_that_do_not_sum_to_1_are_said) {
    (void)said_of("", "");
    array w = read_array(SCRATCH "factor_w.npy");
    for (int i = 0; i < 96 * 96; i++) w.data[i] *= 0.75; /* as beside a logit of nobody's */
    write_array(SCRATCH "factor_w.npy", w.ndim, w.dim, w.data);
    array_free(&w);
    const captured *c = run_well(LAYER_0 SAID "--weights " SCRATCH "factor_w.npy");
    assert_says(c->out, "all 8 heads: scale 0.35355339");
    assert_says(c->out, "Rows of weights sum to 0.75 to 1: ");
}
END_TEST

/* Logits in bfloat16, weights in float32, as where a softmax is computed in more bits. */
START_TEST(logits_of_fewer_bits_than_the_weights_are_found_out) {
    array q = read_array(REAL "0_q.npy"), k = read_array(REAL "0_k.npy");
    static double w[8 * 96 * 96];
    for (int e = 0; e < 8 * 96; e++) {
        double total = 0;
        for (int j = 0; j < 96; j++) {
            double z = 0;
            for (int c = 0; c < 8; c++) z += q.data[e * 8 + c] * k.data[(e / 96 * 96 + j) * 8 + c];
            w[e * 96 + j] = exp(format_round(format_find("bfloat16"), z / 8));
            total += w[e * 96 + j];
        }
        for (int j = 0; j < 96; j++) w[e * 96 + j] = (double)(float)(w[e * 96 + j] / total);
    }
    array_free(&q);
    array_free(&k);
    write_array(SCRATCH "factor_w.npy", 3, (ptrdiff_t[]){8, 96, 96}, w);
    const captured *c = run_well(LAYER_0 SAID "--weights " SCRATCH "factor_w.npy");
    assert_says(c->out, "from its weights (float32)");
    assert_says(c->out, "= 1/8: 1/sqrt(d_k) applied twice, ");
    assert_says(c->out, ", if logits were rounded to 8 bits as in bfloat16. Mask: none.");
}
END_TEST

/* ---- What does not tell ---------------------------------------------------------------------- */

static const captured *said_of_arrays(tt_size queries, tt_size keys, const double *q,
                                      const double *k, const double *w) {
    write_array(SCRATCH "fq.npy", 2, (ptrdiff_t[]){queries, 2}, q);
    write_array(SCRATCH "fk.npy", 2, (ptrdiff_t[]){keys, 2}, k);
    write_array(SCRATCH "fw.npy", 2, (ptrdiff_t[]){queries, keys}, w);
    return run_well("inspect " SAID "--q " SCRATCH "fq.npy --k " SCRATCH "fk.npy --weights " SCRATCH
                    "fw.npy");
}

START_TEST(too_few_one_hot_and_uniform_rows_do_not_tell) {
    static const double q[] = {1, 2, 3, 4, 5, 6}, k[] = {1, 0, 0, 1, 2, 1};
    static const double one_hot[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, same[6] = {1, 1, 1, 1, 1, 1};
    static const double few[] = {0.2, 0.8, 0, 0.3, 0.7, 0, 0, 0, 1};
    const double third = 1.0 / 3;
    const double uniform[] = {third, third, third, third, third, third, third, third, third};
    assert_says(
        said_of_arrays(3, 3, q, k, one_hot)->out,
        "head 0: cannot tell. Needed: 4 differences of weights above 0 whose scores differ (a "
        "row of n has n - 1; one-hot rows have none); found: 0.");
    assert_says(said_of_arrays(3, 3, q, k, few)->out, "found: 2.");
    assert_says(said_of_arrays(3, 3, q, same, uniform)->out, "found: 0.");
    assert_says(said_of_arrays(3, 3, q, k, uniform)->out, "the weights do not depend on q.k.");
}
END_TEST

START_TEST(a_row_that_is_not_a_number_takes_no_part) {
    static const double q[] = {1, 2, 3, 4, 5, 6}, k[] = {1, 0, 0, 1, 2, 1};
    const double uniform[] = {NAN, NAN, NAN, 0.5, 0.25, 0.25, 0.5, 0.25, 0.25};
    assert_says(said_of_arrays(3, 3, q, k, uniform)->out, "no single factor fits");
}
END_TEST

/* ---- Masks ----------------------------------------------------------------------------------- */

/* States of weights under a mask, with these unsure. */
static factor_mask found_mask(int n, int (*sees)(int i, int j), int unsure) {
    static signed char state[64 * 64];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) state[i * n + j] = sees(i, j) ? KEY_VISIBLE : KEY_HIDDEN;
    if (unsure >= 0) state[unsure] = KEY_UNSURE;
    return factor_mask_find(state, n, n);
}

static int window(int i, int j) {
    return j <= i && j > i - 4;
}

static int padded(int i, int j) {
    return i >= 2 && j >= 2 && j <= i;
}

static int odd(int i, int j) {
    return j != 3 || i == 3;
}

START_TEST(masks_are_called_by_their_kind) {
    char text[FACTOR_MASK_BYTES];
    factor_mask m = found_mask(12, window, -1);
    ck_assert_str_eq(factor_mask_text(text, &m), "causal, window of 4 keys");
    m = found_mask(12, window, 7 * 12 + 5); /* a 0 that underflow explains is no hole */
    ck_assert_str_eq(factor_mask_text(text, &m), "causal, window of 4 keys");
    m = found_mask(12, padded, -1);
    ck_assert_str_eq(factor_mask_text(text, &m), "causal, keys 2 to 11 of 12 only");
    m = found_mask(12, odd, -1);
    ck_assert_str_eq(factor_mask_text(text, &m), "own, 11 of 144 weights hidden");
}
END_TEST

/* ---- Files ----------------------------------------------------------------------------------- */

START_TEST(outputs_of_a_real_layer_tell_the_factor) {
    static const char MADE[] =
        "inspect --causal --scale none --q " REAL "0_q.npy --k " REAL
        "0_k.npy --force --output " SCRATCH "made.csv --save-weights " SCRATCH "factor_w.npy";
    (void)run_well("%s", MADE);
    array w = read_array(SCRATCH "factor_w.npy"), v = read_array(REAL "0_v.npy");
    static double o[8 * 96 * 8];
    memset(o, 0, sizeof o);
    for (int e = 0; e < 8 * 96; e++)
        for (int j = 0; j < 96; j++)
            for (int c = 0; c < 8; c++)
                o[e * 8 + c] += w.data[e * 96 + j] * v.data[(e / 96 * 96 + j) * 8 + c];
    write_array(SCRATCH "factor_o.npy", 3, (ptrdiff_t[]){8, 96, 8}, o);
    array_free(&w);
    array_free(&v);
    const captured *c =
        run_well(LAYER_0 SAID "--v " REAL "0_v.npy --out " SCRATCH "factor_o.npy --causal");
    assert_says(c->out, "from its outputs (float64)");
    assert_says(c->out, "no 1/sqrt(8) is applied. Mask: as given.");
}
END_TEST

START_TEST(the_threads_change_nothing) {
    static const char *const FILES[] = {"_factor.csv"};
    (void)said_of("--causal", "");
    for (int threads = 1; threads <= 3; threads += 2) {
        char command[512], name[32];
        (void)snprintf(name, sizeof name, "factor_%d", threads);
        (void)snprintf(command, sizeof command,
                       LAYER_0 "--weights " SCRATCH "factor_w.npy --threads %d", threads);
        run_quietly("", command, name);
    }
    assert_same_results("factor_1", "factor_3", FILES, 1);
}
END_TEST

START_TEST(files_that_are_no_weights_are_refused) {
    static const double q[] = {1, 2, 3, 4}, w[] = {0.5, 2};
    write_array(SCRATCH "fq.npy", 2, (ptrdiff_t[]){2, 2}, q);
    write_array(SCRATCH "fw.npy", 2, (ptrdiff_t[]){1, 2}, w);
    assert_refused(1, "fw.npy [1,2]: expected [2,2]",
                   "inspect --q " SCRATCH "fq.npy --k " SCRATCH "fq.npy --weights " SCRATCH
                   "fw.npy");
    const double more[] = {0.5, 0.5, 2, 0};
    write_array(SCRATCH "fw.npy", 2, (ptrdiff_t[]){2, 2}, more);
    assert_refused(1, "fw.npy: 2 at [1,0]; expected weights, from 0 to 1",
                   "inspect --q " SCRATCH "fq.npy --k " SCRATCH "fq.npy --weights " SCRATCH
                   "fw.npy");
}
END_TEST

Suite *factor_suite(void) {
    const TTest *tests[] = {a_factor_is_said_with_its_meaning,
                            a_rule_is_said_where_no_factor_fits,
                            what_the_options_say_is_contradicted,
                            one_wrong_weight_is_found,
                            rows_that_do_not_sum_to_1_are_said,
                            logits_of_fewer_bits_than_the_weights_are_found_out,
                            too_few_one_hot_and_uniform_rows_do_not_tell,
                            a_row_that_is_not_a_number_takes_no_part,
                            masks_are_called_by_their_kind,
                            outputs_of_a_real_layer_tell_the_factor,
                            the_threads_change_nothing,
                            files_that_are_no_weights_are_refused};
    Suite *suite = suite_of("factor", tests, LENGTH(tests), 60);
    add_loop(suite, weights_tell_the_factor_the_rule_and_the_mask, CASE_KINDS, 60);
    add_loop(suite, outputs_tell_the_factor_and_the_rule, CASE_KINDS, 60);
    return suite;
}
