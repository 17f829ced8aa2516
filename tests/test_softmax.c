/* test_softmax.c: rows of softmax, forward, backward and their statistics, saturated ones first. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "softmax.h"
#include "suites.h"
#include "support.h"
#include "tt/attention.h"
#include "tt/ops.h"
#include "tt/rowstats.h"

enum { ROW_MOST = 512 };

/* One case of softmax_backward.csv: logits, the weights' gradient, and the exact answers. */
typedef struct row_case {
    int number, n;
    double z[ROW_MOST], dp[ROW_MOST], w[ROW_MOST], dz[ROW_MOST], terms[ROW_MOST];
} row_case;

typedef void row_check(const row_case *c);

static void for_each_case(row_check *check) {
    static row_case c;
    table t = table_read(GOLDEN "softmax_backward.csv");
    int cases = 0;
    for (int row = 0; row < t.rows; row++) {
        const int i = (int)table_number(&t, row, "i");
        c.number = (int)table_number(&t, row, "case");
        c.n = (int)table_number(&t, row, "n");
        ck_assert(c.n <= ROW_MOST);
        c.z[i] = table_number(&t, row, "z");
        c.dp[i] = table_number(&t, row, "dp");
        c.w[i] = table_number(&t, row, "w");
        c.dz[i] = table_number(&t, row, "dz");
        c.terms[i] = table_number(&t, row, "terms");
        if (i < c.n - 1) continue;
        check(&c);
        cases++;
    }
    ck_assert_int_eq(cases, 52);
    table_free(&t);
}

/* 1e-12 of the terms added up: a few hundred roundings of n terms, and far below any sign or
 * missing term. The textbook w (dw - sum w dw) fails these by up to their whole size. */
static void assert_row(const row_case *c, const double *got, const char *which) {
    for (int i = 0; i < c->n; i++)
        ck_assert_msg(fabs(got[i] - c->dz[i]) <= 1e-12 * c->terms[i],
                      "%s, case %d, entry %d: %.17g, exact %.17g, terms %g", which, c->number, i,
                      got[i], c->dz[i], c->terms[i]);
}

static void check_op(const row_case *c) {
    double z[ROW_MOST], dp[ROW_MOST];
    memcpy(z, c->z, sizeof z);
    memcpy(dp, c->dp, sizeof dp);
    tt_tape *tape = tt_tape_new();
    tt_var logits = tt_param(tape, tt_tensor_view(z, 1, 1, c->n), NO_GRAD);
    tt_var weights = tt_softmax(tape, logits);
    tt_backward_from(tape, weights, tt_tensor_view(dp, 1, 1, c->n));
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
    assert_row(c, tt_grad(tape, logits).data, "softmax op");
    tt_tape_free(tape);
}

/* The same rows inside attention: d_k = 1, Q = 1, so that the scores are K = z; V = dP and dO = 1,
 * so that dP reaches the weights. */
static void check_attention(const row_case *c) {
    double z[ROW_MOST], dp[ROW_MOST], one = 1;
    memcpy(z, c->z, sizeof z);
    memcpy(dp, c->dp, sizeof dp);
    tt_tape *tape = tt_tape_new();
    tt_var q = tt_param(tape, tt_tensor_view(&one, 1, 1, 1), NO_GRAD);
    tt_var k = tt_param(tape, tt_tensor_view(z, 1, c->n, 1), NO_GRAD);
    tt_var v = tt_const(tape, tt_tensor_view(dp, 1, c->n, 1));
    tt_var out = tt_attention(tape, q, k, v, (tt_attention_options){.scale = 1});
    tt_backward_from(tape, out, tt_tensor_view(&one, 1, 1, 1));
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
    assert_row(c, tt_attention_logits_grad(tape, out).data, "attention, dZ");
    assert_row(c, tt_grad(tape, k).data, "attention, dK");
    tt_tape_free(tape);
}

START_TEST(softmax_op_backward_is_exact_in_saturated_rows) {
    for_each_case(check_op);
}
END_TEST

START_TEST(attention_backward_is_exact_in_saturated_rows) {
    for_each_case(check_attention);
}
END_TEST

static void check_weights(const row_case *c) {
    double w[ROW_MOST];
    tt_softmax_row(c->z, NULL, c->n, w);
    /* exp of a difference d is off by d ulps at most, and |d| < 746 where exp is not 0 */
    for (int i = 0; i < c->n; i++)
        ck_assert_msg(fabs(w[i] - c->w[i]) <= 1e-13 * c->w[i] + DBL_MIN, "case %d [%d]: %g, %g",
                      c->number, i, w[i], c->w[i]);
}

START_TEST(weights_keep_their_relative_accuracy) {
    for_each_case(check_weights);
}
END_TEST

START_TEST(a_common_offset_changes_nothing) {
    double z[] = {3, 1, -2}, shifted[] = {1000003, 1000001, 999998}, a[3], b[3];
    tt_softmax_row(z, NULL, 3, a);
    tt_softmax_row(shifted, NULL, 3, b);
    ck_assert(memcmp(a, b, sizeof a) == 0); /* the shifts are exact in double */
}
END_TEST

START_TEST(huge_logits_give_no_nan) {
    double z[] = {-2e5, 1e4, -1e4, 1e4}, w[4];
    tt_softmax_row(z, NULL, 4, w);
    ck_assert(w[0] == 0 && w[1] == 0.5 && w[2] == 0 && w[3] == 0.5);
}
END_TEST

START_TEST(nan_in_a_row_comes_out_as_nan) {
    double z[] = {1, NAN, 2}, w[3];
    tt_softmax_row(z, NULL, 3, w);
    ck_assert(isnan(w[1]));
}
END_TEST

START_TEST(what_is_not_allowed_is_zero_whatever_stands_there_or_beside_it) {
    const unsigned char allowed[] = {1, 0, 1, 0, 1, 1, 1, 1, 0, 1};
    double z[10], dw[10], w[10], dz[10];
    for (int j = 0; j < 10; j++) {
        z[j] = allowed[j] ? (double)j : (double)NAN;
        dw[j] = !allowed[j] ? (double)NAN : j == 4 ? (double)INFINITY : 1;
    }
    tt_softmax_row(z, allowed, 10, w);
    tt_softmax_row_backward(w, dw, allowed, 10, dz);
    for (int j = 0; j < 10; j++)
        if (!allowed[j]) ck_assert(w[j] == 0 && dz[j] == 0 && !signbit(dz[j]));
    ck_assert(w[9] > 0.6 && isnan(dz[4]));
}
END_TEST

/* 4 ulp: the formulas add up a handful of terms of one sign. */
static void assert_close(double got, double expected) {
    ck_assert_msg(fabs(got - expected) <= 1e-15 * fabs(expected), "%.17g is not %.17g", got,
                  expected);
}

START_TEST(uniform_row_has_the_known_statistics) {
    double w[] = {0.25, 0.25, 0.25, 0.25};
    tt_rowstats s = tt_rowstats_compute(w, 4);
    assert_close(s.entropy, log(4));
    assert_close(s.participation, 0.25);
    assert_close(s.max_weight, 0.25);
    assert_close(s.jacobian, sqrt(3.0) / 4); /* |J|_F^2 = (n - 1) / n^2 */
    ck_assert_int_eq(s.argmax, 0);
}
END_TEST

START_TEST(two_keys_have_jacobian_2_w_1_minus_w) {
    double w[] = {0.125, 0.875};
    tt_rowstats s = tt_rowstats_compute(w, 2);
    assert_close(s.jacobian, 2 * 0.125 * 0.875);
    assert_close(s.entropy, -0.125 * log(0.125) - 0.875 * log(0.875));
    ck_assert_int_eq(s.argmax, 1);
}
END_TEST

START_TEST(saturated_row_keeps_entropy_and_jacobian) {
    /* w = (1, e), e = 1e-40: entropy e (1 + ln 1/e), |J| = 2 e, both to first order in e */
    double w[] = {1, 1e-40};
    tt_rowstats s = tt_rowstats_compute(w, 2);
    assert_close(s.jacobian, 2e-40);
    assert_close(s.entropy, 1e-40 * (1 + 40 * log(10)));
}
END_TEST

START_TEST(weights_whose_squares_underflow_keep_their_jacobian) {
    double w[] = {1e-200, 1};
    assert_close(tt_rowstats_compute(w, 2).jacobian, 2e-200);
}
END_TEST

START_TEST(a_subnormal_weight_gives_finite_statistics) {
    double w[] = {1, 4.9406564584124654e-324};
    tt_rowstats s = tt_rowstats_compute(w, 2);
    ck_assert(isfinite(s.entropy) && s.entropy > 0 && isfinite(s.jacobian));
}
END_TEST

START_TEST(exact_zeros_and_ones_among_the_weights_give_finite_statistics) {
    double one_hot[] = {0, 1, 0}, half[] = {0.5, 0, 0.5};
    tt_rowstats s = tt_rowstats_compute(one_hot, 3), h = tt_rowstats_compute(half, 3);
    ck_assert(s.entropy == 0 && s.jacobian == 0 && s.participation == 1 && s.argmax == 1);
    assert_close(h.entropy, log(2));
    assert_close(h.jacobian, 0.5);
}
END_TEST

START_TEST(nan_among_the_weights_makes_the_statistics_nan) {
    double first[] = {NAN, 0.5}, middle[] = {0.5, NAN, 0.5}, last[] = {0, NAN};
    ck_assert(isnan(tt_rowstats_compute(first, 2).entropy));
    ck_assert(isnan(tt_rowstats_compute(middle, 3).entropy));
    ck_assert(isnan(tt_rowstats_compute(middle, 3).max_weight));
    ck_assert(isnan(tt_rowstats_compute(last, 2).jacobian));
}
END_TEST

START_TEST(row_without_a_key_is_all_zero) {
    double w[] = {0, 0};
    tt_rowstats s = tt_rowstats_compute(w, 2), empty = tt_rowstats_compute(w, 0);
    ck_assert(s.entropy == 0 && s.jacobian == 0 && s.participation == 0 && s.max_weight == 0);
    ck_assert(empty.entropy == 0 && empty.jacobian == 0);
}
END_TEST

Suite *softmax_suite(void) {
    const TTest *tests[] = {softmax_op_backward_is_exact_in_saturated_rows,
                            attention_backward_is_exact_in_saturated_rows,
                            weights_keep_their_relative_accuracy,
                            a_common_offset_changes_nothing,
                            huge_logits_give_no_nan,
                            nan_in_a_row_comes_out_as_nan,
                            what_is_not_allowed_is_zero_whatever_stands_there_or_beside_it,
                            uniform_row_has_the_known_statistics,
                            two_keys_have_jacobian_2_w_1_minus_w,
                            saturated_row_keeps_entropy_and_jacobian,
                            weights_whose_squares_underflow_keep_their_jacobian,
                            a_subnormal_weight_gives_finite_statistics,
                            exact_zeros_and_ones_among_the_weights_give_finite_statistics,
                            nan_among_the_weights_makes_the_statistics_nan,
                            row_without_a_key_is_all_zero};
    return suite_of("softmax", tests, LENGTH(tests), 60);
}
