/* test_stats.c: norms that neither vanish nor overflow, and numpy's quantiles. */
#include "common/stats.h"

#include <math.h>

#include "suites.h"
#include "support.h"
#include "tt/elementary.h"
#include "tt/norm.h"
#include "tt/rng.h"

START_TEST(norm_by_hand) {
    double x[] = {3, 0, -4};
    ck_assert(tt_norm(x, 3) == 5);
    ck_assert(tt_norm(x, 0) == 0);
}
END_TEST

START_TEST(norm_of_tiny_and_huge_entries_keeps_its_accuracy) {
    double tiny[] = {3e-200, 4e-200}, huge[] = {3e200, 4e200}, subnormal[] = {3e-320, 4e-320};
    /* a few roundings */
    ck_assert_double_eq_tol(tt_norm(tiny, 2) / 5e-200, 1, 1e-15);
    ck_assert_double_eq_tol(tt_norm(huge, 2) / 5e200, 1, 1e-15);
    ck_assert_double_eq_tol(tt_norm(subnormal, 2) / 5e-320, 1, 1e-4); /* 5e-324 is one ulp */
}
END_TEST

START_TEST(norm_passes_on_what_is_not_finite) {
    double bad[] = {1, NAN}, endless[] = {1, INFINITY};
    ck_assert(isnan(tt_norm(bad, 2)) && isnan(tt_norm(bad + 1, 1)));
    ck_assert(isinf(tt_norm(endless, 2)));
    ck_assert(!stats_finite(bad, 2) && !stats_finite(endless, 2));
}
END_TEST

/* Many are sorted by their digits, few by comparison: both into the order of numbers. */
START_TEST(few_and_many_are_sorted_as_numbers) {
    enum { MANY = 1000 };
    static const double SPECIAL[] = {INFINITY, -INFINITY, 0, -0.0,    5e-324,
                                     -5e-324,  1e308,     1, -1e-300, -1};
    double x[MANY];
    tt_rng rng;
    tt_rng_seed(&rng, 8);
    for (tt_size n = 1; n <= MANY; n += n < 300 ? 37 : 300) {
        double sum = 0, sorted_sum = 0;
        tt_rng_normal(&rng, x, n);
        for (tt_size i = 0; i < n; i += 7) x[i] = i % 2 ? SPECIAL[i % 10] : x[i / 2]; /* and ties */
        for (tt_size i = 0; i < n; i++) sum += isfinite(x[i]) ? tt_exp(-fabs(x[i])) : 1;
        stats_sort(x, n);
        for (tt_size i = 0; i < n; i++) sorted_sum += isfinite(x[i]) ? tt_exp(-fabs(x[i])) : 1;
        for (tt_size i = 1; i < n; i++) ck_assert(x[i - 1] <= x[i]);
        /* the same numbers are there, added up in another order */
        ck_assert_double_eq_tol(sorted_sum, sum, 1e-12 * sum);
    }
    double zeros[] = {0, -0.0, 0, -0.0}; /* as many are: what qsort does of equals is its own */
    stats_sort(zeros, 4);
    ck_assert(signbit(zeros[0]) && signbit(zeros[1]) && !signbit(zeros[2]) && !signbit(zeros[3]));
}
END_TEST

START_TEST(quantiles_are_numpys) {
    double x[] = {5, 1, 4, 2};
    stats_sort(x, 4);
    ck_assert(stats_quantile(x, 4, 0.5) == 3); /* np.quantile([5,1,4,2], q) */
    ck_assert(stats_quantile(x, 4, 0.25) == 1.75);
    ck_assert_double_eq_tol(stats_quantile(x, 4, 0.9), 4.7, 1e-15);
    ck_assert(stats_quantile(x, 4, 0) == 1 && stats_quantile(x, 4, 1) == 5);
    ck_assert(stats_quantile(x, 1, 0.3) == 1);
}
END_TEST

START_TEST(quantiles_of_infinities_are_infinite_not_nan) {
    double x[] = {1, INFINITY, INFINITY, INFINITY};
    ck_assert(isinf(stats_quantile(x, 4, 0.5)));
    ck_assert(isinf(stats_quantile(x, 4, 0.25)));
}
END_TEST

START_TEST(deviation_divides_by_n) {
    double x[] = {1, 3};
    ck_assert(stats_deviation(x, 2) == 1 && stats_mean(x, 2) == 2);
}
END_TEST

START_TEST(a_cosine_needs_two_directions_whatever_their_lengths) {
    const double x[] = {3e-100, 4e-100}, y[] = {4e100, -3e100}, z[] = {0, 0};
    /* a few roundings of terms of 1 */
    ck_assert_double_eq_tol(stats_cosine(x, x, 2), 1, 1e-15);
    ck_assert_double_eq_tol(stats_cosine(y, y, 1), 1, 1e-15);
    ck_assert_double_eq_tol(stats_cosine(x, y, 2), 0, 1e-15);
    ck_assert(stats_cosine(x, z, 2) == 0);
}
END_TEST

Suite *stats_suite(void) {
    const TTest *tests[] = {a_cosine_needs_two_directions_whatever_their_lengths,
                            norm_by_hand,
                            norm_of_tiny_and_huge_entries_keeps_its_accuracy,
                            norm_passes_on_what_is_not_finite,
                            few_and_many_are_sorted_as_numbers,
                            quantiles_are_numpys,
                            quantiles_of_infinities_are_infinite_not_nan,
                            deviation_divides_by_n};
    return suite_of("stats", tests, LENGTH(tests), 60);
}
