/* test_theory.c: the exact curves are the yardstick every measured curve is held against, so they
 * are themselves checked four ways: against tabulated quadrature and Monte Carlo values from an
 * independent program, against closed forms, against their own limits, and against halved steps. */
#include "saturation/theory.h"

#include <math.h>
#include <string.h>

#include "suites.h"
#include "support.h"

static const double PI = 3.14159265358979323846;

/* ---- Comparing ------------------------------------------------------------------------------- */

static void assert_close(double value, double expected, double tolerance, const char *what) {
    ck_assert_msg(fabs(value - expected) <= tolerance, "%s: %.15g, expected %.15g within %.2g",
                  what, value, expected, tolerance);
}

static void assert_moments_close(const theory_moments *a, const theory_moments *b, double tolerance,
                                 double max_weight_tolerance) {
    assert_close(a->sum_w2, b->sum_w2, tolerance, "sum_w2");
    assert_close(a->sum_w3, b->sum_w3, tolerance, "sum_w3");
    assert_close(a->sum_w4, b->sum_w4, tolerance, "sum_w4");
    assert_close(a->sum_w2_squared, b->sum_w2_squared, tolerance, "sum_w2_squared");
    assert_close(a->one_minus_sum_w2, b->one_minus_sum_w2, tolerance, "one_minus_sum_w2");
    assert_close(a->jacobian_fro2, b->jacobian_fro2, tolerance, "jacobian_fro2");
    assert_close(a->entropy, b->entropy, tolerance, "entropy");
    assert_close(a->max_weight, b->max_weight, max_weight_tolerance, "max_weight");
}

static void moments_of_row(const table *t, int row, theory_moments *m) {
    theory_iid((int)table_number(t, row, "n"), sqrt(table_number(t, row, "sigma2")), m);
}

/* ---- Two keys, by a different road ----------------------------------------------------------- */

/* For n = 2 the weights are w and 1 - w with w = 1 / (1 + exp(-x)), x the score difference. */
static void add_two_keys(double weight, double x, theory_moments *sum) {
    double e = exp(-fabs(x)), w = 1 / (1 + e), v = e / (1 + e), square = w * w + v * v;
    sum->sum_w2 += weight * square;
    sum->sum_w3 += weight * (w * w * w + v * v * v);
    sum->sum_w4 += weight * (w * w * w * w + v * v * v * v);
    sum->sum_w2_squared += weight * square * square;
    sum->one_minus_sum_w2 += weight * 2 * w * v;
    sum->jacobian_fro2 += weight * 4 * w * w * v * v;
    sum->entropy += weight * (log1p(e) + v * fabs(x));
    sum->max_weight += weight * w;
}

/* x ~ N(0, 2 sigma^2) by the trapezoid rule on z > 0; `mass` is the weight of this sigma. All but
 * max_weight are even in x, where the rule is exact to rounding at this step; max_weight has a kink
 * at 0, whose leading error h^2/12 f'(0) is added. What remains of it is (h sigma)^4 / 720 < 1e-11.
 */
static void add_two_keys_normal(double mass, double sigma, theory_moments *sum) {
    double h = 0.01 / (1 + sigma), density = 2 * mass / sqrt(2 * PI);
    for (int i = 0; i * h < 8.0; i++) {
        double z = i * h, weight = h * density * exp(-z * z / 2) * (i == 0 ? 0.5 : 1.0);
        add_two_keys(weight, sqrt(2.0) * sigma * z, sum);
    }
    sum->max_weight += h * h / 12 * density * sqrt(2.0) * sigma / 4;
}

/* |q| = e^v, v stepped evenly: unlike the substitution of the module, and slow. */
static void two_keys_over_chi(int d_k, double scale, theory_moments *sum) {
    double step = 0.5 / sqrt(d_k + 40.0), mass = 0.0;
    theory_moments total = {0};
    *sum = total;
    for (double v = -26.0 / d_k; v < 3.5; v += step) {
        double log_weight = d_k * v - exp(2 * v) / 2 - d_k * (log(d_k) - 1) / 2;
        if (log_weight < -30.0) continue;
        add_two_keys_normal(exp(log_weight), fabs(scale) * exp(v), &total);
        mass += exp(log_weight);
    }
    sum->sum_w2 = total.sum_w2 / mass;
    sum->sum_w3 = total.sum_w3 / mass;
    sum->sum_w4 = total.sum_w4 / mass;
    sum->sum_w2_squared = total.sum_w2_squared / mass;
    sum->one_minus_sum_w2 = total.one_minus_sum_w2 / mass;
    sum->jacobian_fro2 = total.jacobian_fro2 / mass;
    sum->entropy = total.entropy / mass;
    sum->max_weight = total.max_weight / mass;
}

/* ---- Independent normal scores --------------------------------------------------------------- */

START_TEST(moments_agree_with_tabulated_quadrature) {
    table t = table_read(GOLDEN "softmax_theory.csv");
    ck_assert_int_eq(t.rows, 50);
    /* the table has 12 digits of integrals good to 1e-13 (maximum: 1e-8 by its own account) */
    const double exact = 1e-10, exact_max = 1e-8;
    for (int row = 0; row < t.rows; row++) {
        theory_moments m, golden;
        moments_of_row(&t, row, &m);
        golden.sum_w2 = table_number(&t, row, "sum_w2_quad");
        golden.sum_w3 = table_number(&t, row, "sum_w3_quad");
        golden.sum_w4 = table_number(&t, row, "sum_w4_quad");
        golden.sum_w2_squared = table_number(&t, row, "sum_w2_squared_quad");
        golden.one_minus_sum_w2 = table_number(&t, row, "one_minus_sum_w2_quad");
        golden.jacobian_fro2 = table_number(&t, row, "jac_fro2_quad");
        golden.entropy = table_number(&t, row, "entropy_quad");
        golden.max_weight = table_number(&t, row, "max_w_quad");
        assert_moments_close(&m, &golden, exact, exact_max);
    }
    table_free(&t);
}
END_TEST

START_TEST(moments_agree_with_monte_carlo) {
    table t = table_read(GOLDEN "softmax_theory.csv");
    ck_assert_int_eq(t.rows, 50);
    /* 200 comparisons of normal deviates: one beyond 4.5 has probability 0.0014 */
    const double z_limit = 4.5;
    for (int row = 0; row < t.rows; row++) {
        theory_moments m;
        moments_of_row(&t, row, &m);
        assert_close(m.sum_w2, table_number(&t, row, "sum_w2_mc"),
                     z_limit * table_number(&t, row, "sum_w2_se"), "sum_w2");
        assert_close(m.max_weight, table_number(&t, row, "max_w_mc"),
                     z_limit * table_number(&t, row, "max_w_se"), "max_weight");
        assert_close(m.entropy, table_number(&t, row, "entropy_mc"),
                     z_limit * table_number(&t, row, "entropy_se"), "entropy");
        assert_close(m.jacobian_fro2, table_number(&t, row, "jac_fro2_mc"),
                     z_limit * table_number(&t, row, "jac_fro2_se"), "jacobian_fro2");
    }
    table_free(&t);
}
END_TEST

START_TEST(a_single_key_has_all_the_weight) {
    const theory_moments one = {1, 1, 1, 1, 0, 0, 0, 1};
    theory_moments m;
    theory_iid(1, 3.0, &m);
    /* a closed form without rounding: exact */
    assert_moments_close(&m, &one, 0.0, 0.0);
}
END_TEST

static const int key_counts[] = {2, 3, 16, 256, 4096};
enum { KEY_COUNTS = sizeof key_counts / sizeof key_counts[0] };

START_TEST(equal_scores_give_equal_weights) {
    for (int i = 0; i < KEY_COUNTS; i++) {
        double n = key_counts[i];
        theory_moments m;
        const theory_moments uniform = {1 / n,       1 / (n * n), 1 / (n * n * n),
                                        1 / (n * n), (n - 1) / n, (n - 1) / (n * n),
                                        log(n),      1 / n};
        theory_iid(key_counts[i], 0.0, &m);
        /* a few roundings of numbers up to ln 4096 = 8.3 */
        assert_moments_close(&m, &uniform, 1e-14, 1e-14);
    }
}
END_TEST

START_TEST(tiny_sigma_joins_the_uniform_limit) {
    for (int i = 0; i < KEY_COUNTS; i++) {
        theory_moments zero, tiny;
        theory_iid(key_counts[i], 0.0, &zero);
        theory_iid(key_counts[i], 1e-12, &tiny);
        /* the true difference is below sigma; what is seen is the integration error, 1e-9 allowed,
         * and a tenth of it kept */
        assert_moments_close(&tiny, &zero, 1e-10, 1e-10);
    }
}
END_TEST

START_TEST(two_keys_agree_with_the_logistic_closed_form) {
    const double sigmas[] = {0.001, 0.05, 0.5, 1, 2, 8, 64};
    for (int i = 0; i < 7; i++) {
        theory_moments m, logistic = {0};
        theory_iid(2, sigmas[i], &m);
        add_two_keys_normal(1.0, sigmas[i], &logistic);
        /* a tenth of the bound of theory.h; the maximum adds the 1e-11 of the reference */
        assert_moments_close(&m, &logistic, 1e-10, 1e-10);
    }
}
END_TEST

START_TEST(halving_the_steps_changes_nothing) {
    const double sigmas[] = {1e-3, 0.3, 1.5, 4, 64};
    for (int i = 0; i < KEY_COUNTS; i++) {
        for (int j = 0; j < 5; j++) {
            theory_moments coarse, fine;
            theory_iid(key_counts[i], sigmas[j], &coarse);
            theory_iid_refined(key_counts[i], sigmas[j], 2.0, &fine);
            /* discretisation may take a tenth of the bound of theory.h */
            assert_moments_close(&coarse, &fine, 1e-10, 1e-10);
        }
    }
}
END_TEST

START_TEST(weights_sum_to_one) {
    /* E (sum w)^2 = 1 joins two separate integrals, so it sees range cut-offs that halved steps
     * share. Powers to n amplify rounding n-fold: 4096 * 2e-16 and some */
    const double sigmas[] = {1e-3, 0.3, 1, 3, 9, 27, 64};
    for (int i = 0; i < KEY_COUNTS; i++) {
        for (int j = 0; j < 7; j++) {
            theory_moments m;
            theory_iid(key_counts[i], sigmas[j], &m);
            assert_close(m.sum_w2 + m.one_minus_sum_w2, 1.0, 2e-11, "(sum w)^2");
        }
    }
}
END_TEST

START_TEST(only_the_size_of_sigma_matters) {
    theory_moments plus, minus;
    theory_iid(7, 1.3, &plus);
    theory_iid(7, -1.3, &minus);
    /* the same arithmetic: exact */
    assert_moments_close(&minus, &plus, 0.0, 0.0);
}
END_TEST

START_TEST(participation_matches_published_digits) {
    const struct {
        int n;
        double sigma, participation, half_last_digit;
    } cases[] = {{10, 1, 0.1947, 5e-5},
                 {64, 1, 0.03880, 5e-6},
                 {64, sqrt(2 * log(64)), 0.3083, 5e-5},
                 {1024, 1, 0.002635, 5e-7}};
    for (int i = 0; i < 4; i++) {
        theory_moments m;
        theory_iid(cases[i].n, cases[i].sigma, &m);
        assert_close(m.sum_w2, cases[i].participation, cases[i].half_last_digit, "sum_w2");
    }
}
END_TEST

/* ---- Averages over queries ------------------------------------------------------------------- */

START_TEST(query_average_of_two_keys_agrees_with_a_plain_double_sum) {
    const int widths[] = {1, 2, 3, 8, 64};
    for (int i = 0; i < 5; i++) {
        double scales[] = {1.0, 1 / sqrt(widths[i])};
        for (int j = 0; j < 2; j++) {
            theory_moments m, plain;
            theory_qk(2, widths[i], scales[j], &m);
            two_keys_over_chi(widths[i], scales[j], &plain);
            /* the plain sum leaves out 1e-11 of the chi distribution at d_k = 1 */
            assert_moments_close(&m, &plain, 1e-10, 1e-10);
        }
    }
}
END_TEST

START_TEST(query_average_agrees_with_tabulated_values) {
    table t = table_read(GOLDEN "softmax_limits.csv");
    int rows = 0;
    for (int row = 0; row < t.rows; row++) {
        const char *kind = table_text(&t, row, "kind");
        if (strncmp(kind, "real_", 5) != 0) continue;
        int d_k = (int)table_number(&t, row, "d_k");
        double scale = strcmp(kind, "real_scaled") == 0 ? 1 / sqrt(d_k) : 1.0;
        theory_moments m;
        theory_qk((int)table_number(&t, row, "n"), d_k, scale, &m);
        /* the moments' 1e-10, but at d_k = 1 the table itself is 2.7e-10 off: two other ways to
         * step over |q| both give an entropy of 2.434983136 where it has 2.43498313577 */
        double tolerance = d_k == 1 ? 1e-9 : 1e-10;
        assert_close(m.sum_w2, table_number(&t, row, "a"), tolerance, "sum_w2");
        assert_close(m.jacobian_fro2, table_number(&t, row, "b"), tolerance, "jacobian_fro2");
        assert_close(m.entropy, table_number(&t, row, "c"), tolerance, "entropy");
        rows++;
    }
    ck_assert_int_eq(rows, 12);
    table_free(&t);
}
END_TEST

START_TEST(halving_the_steps_over_queries_changes_nothing) {
    const int widths[] = {1, 2, 16, 512, 65536};
    for (int i = 0; i < 5; i++) {
        double scale = widths[i] > 512 ? 1 / sqrt(widths[i]) : 1.0;
        theory_moments coarse, fine;
        theory_qk(16, widths[i], scale, &coarse);
        theory_qk_refined(16, widths[i], scale, 2.0, &fine);
        /* discretisation may take a tenth of the bound of theory.h */
        assert_moments_close(&coarse, &fine, 1e-10, 1e-10);
    }
}
END_TEST

START_TEST(wide_queries_have_nearly_one_norm) {
    const int d_k = 65536;
    theory_moments averaged, fixed;
    theory_qk(16, d_k, 1 / sqrt(d_k), &averaged);
    theory_iid(16, 1.0, &fixed);
    /* |q|/sqrt(d_k) has variance 1/(2 d_k) and bias -1/(4 d_k); slopes in sigma are of order 1 */
    assert_moments_close(&averaged, &fixed, 1.0 / d_k, 1.0 / d_k);
}
END_TEST

START_TEST(queries_of_scale_zero_attend_uniformly) {
    theory_moments averaged, uniform;
    theory_qk(16, 4, 0.0, &averaged);
    theory_iid(16, 0.0, &uniform);
    /* a weighted mean of equal numbers: rounding only */
    assert_moments_close(&averaged, &uniform, 1e-14, 1e-14);
}
END_TEST

/* ---- Gaps and limits ------------------------------------------------------------------------- */

START_TEST(gap_constants_have_their_closed_forms) {
    /* theory.h promises 1e-12 and 1e-11 relative */
    assert_close(theory_gap_density(2), 1 / sqrt(PI), 1e-12, "c(2)");
    assert_close(theory_gap_density(3), 1.5 / sqrt(PI), 1e-12, "c(3)");
    /* the gap of two is |N(0, 2)|: sqrt(2) times the normal's upper quartile */
    assert_close(theory_median_gap(2), sqrt(2.0) * 0.67448975019608174, 1e-11, "m(2)");
}
END_TEST

/* P(|q.k| > t), d_k even: of k = d_k / 2 independent Laplace variables, so |q.k| is a gamma
 * variable of k - j degrees, j having failed before k of a kind in tosses of a coin (negative
 * binomial, both kinds). Terms of one sign, no integral over |q|. */
static double product_survival(int d_k, double t) {
    const int k = d_k / 2;
    double probability = pow(0.5, k - 1), survival = 0.0;
    for (int j = 0; j < k; j++) {
        double term = exp(-t), gamma_tail = 0.0;
        for (int i = 0; i < k - j; i++) {
            gamma_tail += term;
            term *= t / (i + 1);
        }
        survival += probability * gamma_tail;
        probability *= (k + j) / (2.0 * (j + 1));
    }
    return survival;
}

START_TEST(two_key_gap_halves_the_probability_of_a_sum_of_products) {
    const int widths[] = {2, 8, 64, 512};
    for (int i = 0; i < 4; i++) {
        /* k - k' is sqrt(2) times a standard normal. The density of the gap at its median, in units
         * of that median, is below 0.5, so 1e-11 relative is 5e-12 of probability; sums of 512
         * terms are good to 1e-13 */
        const double gap = theory_two_key_gap(widths[i]);
        assert_close(product_survival(widths[i], gap / sqrt(2.0)), 0.5, 5e-12, "P(gap > median)");
    }
    /* one Laplace variable: its absolute value is exponential */
    assert_close(theory_two_key_gap(2), sqrt(2.0) * log(2.0), 1e-11, "d_k 2");
}
END_TEST

START_TEST(two_key_gap_is_where_other_integrals_have_it) {
    /* d_k 1: P(|q k| > t) = (2/pi) integral_0^inf exp(-t cosh a) / cosh a da by the trapezoid rule
     * elsewhere, to 1e-12. The others are what METHOD.md says, to its digits. */
    assert_close(theory_two_key_gap(1), 0.5164255548817838, 1e-11, "d_k 1");
    assert_close(theory_two_key_gap(8), 2.49, 0.005, "d_k 8");
    assert_close(theory_two_key_gap(64), 7.56, 0.005, "d_k 64");
    assert_close(theory_two_key_gap(512), 21.6, 0.05, "d_k 512");
    /* |q| / sqrt(d_k) has mean 1 - 1/(4 d_k) and variance 1/(2 d_k), so the median tends to that of
     * |N(0, 2)| like 1/d_k with a constant below 1 */
    assert_close(theory_two_key_gap(65536) / 256, theory_median_gap(2), 1.0 / 65536, "d_k 65536");
}
END_TEST

START_TEST(gap_constants_agree_with_the_table) {
    table t = table_read(GOLDEN "softmax_theory.csv");
    ck_assert_int_eq(t.rows, 50);
    for (int row = 0; row < t.rows; row++) {
        int n = (int)table_number(&t, row, "n");
        /* 12 printed digits; medians were tabulated to a relative 1e-7 */
        assert_close(theory_gap_density(n), table_number(&t, row, "c_n"), 1e-11, "c(n)");
        assert_close(theory_median_gap(n), table_number(&t, row, "median_gap"), 1e-7, "m(n)");
    }
    table_free(&t);
}
END_TEST

START_TEST(one_key_has_no_gap) {
    ck_assert(theory_gap_density(1) == 0.0);
    ck_assert(isinf(theory_median_gap(1)));
}
END_TEST

START_TEST(large_sigma_values_agree_with_the_table) {
    table t = table_read(GOLDEN "softmax_limits.csv");
    int rows = 0;
    for (int row = 0; row < t.rows; row++) {
        if (strcmp(table_text(&t, row, "kind"), "powerlaw") != 0) continue;
        double sigma = sqrt(table_number(&t, row, "sigma2"));
        if (sigma > 64) continue;
        theory_moments m;
        theory_iid((int)table_number(&t, row, "n"), sigma, &m);
        /* the 1e-10 of the moments, times 3 sigma */
        assert_close(sigma * m.one_minus_sum_w2, table_number(&t, row, "a"), 1e-8, "c");
        assert_close(3 * sigma * m.jacobian_fro2, table_number(&t, row, "b"), 1e-8, "c");
        rows++;
    }
    ck_assert_int_eq(rows, 10);
    table_free(&t);
}
END_TEST

START_TEST(values_at_twice_beta_c_agree_with_the_table) {
    table t = table_read(GOLDEN "softmax_limits.csv");
    int rows = 0;
    for (int row = 0; row < t.rows; row++) {
        double n = table_number(&t, row, "n");
        if (strcmp(table_text(&t, row, "kind"), "rem_half") != 0) continue;
        theory_moments m;
        theory_iid((int)n, sqrt(8 * log(n)), &m);
        /* a tenth of the bound of theory.h */
        assert_close(m.sum_w2, table_number(&t, row, "a"), 1e-10, "sum_w2");
        assert_close(m.jacobian_fro2, table_number(&t, row, "b"), 1e-10, "jacobian_fro2");
        assert_close(m.entropy, table_number(&t, row, "c"), 1e-10, "entropy");
        rows++;
    }
    ck_assert_int_eq(rows, 3);
    table_free(&t);
}
END_TEST

START_TEST(freezing_width_is_two_ln_n) {
    /* published to one decimal */
    assert_close(theory_freezing_d_k(10), 4.6, 0.05, "n = 10");
    assert_close(theory_freezing_d_k(16), 5.5, 0.05, "n = 16");
    assert_close(theory_freezing_d_k(64), 8.3, 0.05, "n = 64");
    assert_close(theory_freezing_d_k(1024), 13.9, 0.05, "n = 1024");
    ck_assert(theory_freezing_d_k(1) == 0.0);
}
END_TEST

Suite *theory_suite(void) {
    const TTest *tests[] = {moments_agree_with_tabulated_quadrature,
                            moments_agree_with_monte_carlo,
                            a_single_key_has_all_the_weight,
                            equal_scores_give_equal_weights,
                            tiny_sigma_joins_the_uniform_limit,
                            two_keys_agree_with_the_logistic_closed_form,
                            halving_the_steps_changes_nothing,
                            weights_sum_to_one,
                            only_the_size_of_sigma_matters,
                            participation_matches_published_digits,
                            query_average_of_two_keys_agrees_with_a_plain_double_sum,
                            query_average_agrees_with_tabulated_values,
                            halving_the_steps_over_queries_changes_nothing,
                            wide_queries_have_nearly_one_norm,
                            queries_of_scale_zero_attend_uniformly,
                            gap_constants_have_their_closed_forms,
                            two_key_gap_halves_the_probability_of_a_sum_of_products,
                            two_key_gap_is_where_other_integrals_have_it,
                            gap_constants_agree_with_the_table,
                            one_key_has_no_gap,
                            large_sigma_values_agree_with_the_table,
                            values_at_twice_beta_c_agree_with_the_table,
                            freezing_width_is_two_ln_n};
    return suite_of("theory", tests, LENGTH(tests), 60);
}
