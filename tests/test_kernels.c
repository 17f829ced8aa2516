/* test_kernels.c: every kernel gives the bits that the plain definition gives, one number after the
 * other; and the fused multiply-add that is made of additions is exact.
 */
#include <math.h>
#include <string.h>

#include "kernels.h"
#include "suites.h"
#include "support.h"
#include "tt/elementary.h"
#include "tt/kernel.h"

/* As a processor without the instruction would. */
#define TT_EMULATE_FMA
#define TT_WIDTH 2
#include "fma_lanes.h"

enum { LONGEST = 70 };

/* The kernels of test loop _i, or NULL where they do not run. */
static const tt_kernels *kernels_of(int i) {
    return tt_kernel_use((tt_kernel)i) ? tt_kernels_here() : NULL;
}

static void assert_bits(const char *what, const double *got, const double *expected, tt_size n) {
    for (tt_size j = 0; j < n; j++)
        ck_assert_msg(isnan(expected[j]) ? isnan(got[j])
                                         : memcmp(got + j, expected + j, sizeof *got) == 0,
                      "%s of %td, entry %td: %a, not %a", what, n, j, got[j], expected[j]);
}

/* Eight sums, entry j in sum j mod 8, folded in one order (lanes.h). */
static double sum_in_lanes(const double *x, tt_size n) {
    double s[8] = {0};
    for (tt_size j = 0; j < n; j++) s[j % 8] += x[j];
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

static void softmax_plainly(const double *z, tt_size n, double *w) {
    double most = -INFINITY;
    for (tt_size j = 0; j < n; j++)
        if (z[j] > most) most = z[j];
    for (tt_size j = 0; j < n; j++) w[j] = tt_exp(z[j] - most);
    const double sum = sum_in_lanes(w, n);
    for (tt_size j = 0; j < n; j++) w[j] /= sum;
}

static void backward_plainly(const double *w, const double *dw, tt_size n, double *dz) {
    double terms[LONGEST];
    tt_size m = 0;
    for (tt_size j = 1; j < n; j++)
        if (w[j] > w[m]) m = j;
    const double shift = dw[m];
    for (tt_size j = 0; j < n; j++) terms[j] = w[j] * (dw[j] - shift);
    const double sum = sum_in_lanes(terms, n);
    for (tt_size j = 0; j < n; j++) dz[j] = w[j] * ((dw[j] - shift) - sum);
}

/* Rows of all lengths; the last few kinds with ties, with weights far below the smallest number,
 * and with what is no number. */
START_TEST(softmax_and_its_backward_have_the_plain_definitions_bits) {
    static const double SPREADS[] = {0, 1, 30, 300, 2000, INFINITY};
    const tt_kernels *kernels = kernels_of(_i);
    double z[LONGEST], dw[LONGEST], got[LONGEST], expected[LONGEST], dz[LONGEST], exact[LONGEST];
    tt_rng rng;
    tt_rng_seed(&rng, 4);
    for (tt_size n = 1; kernels && n <= LONGEST; n++)
        for (int s = 0; s < LENGTH(SPREADS); s++) {
            tt_rng_normal(&rng, z, n);
            tt_rng_normal(&rng, dw, n);
            for (tt_size j = 0; j < n; j++) z[j] *= SPREADS[s];
            if (s == 3) z[n / 2] = z[n - 1]; /* a tie, perhaps for the largest */
            if (s == 4) dw[n / 3] = INFINITY;
            kernels->softmax(z, 1, n, got);
            softmax_plainly(z, n, expected);
            assert_bits("softmax", got, expected, n);
            kernels->softmax_backward(got, dw, n, dz);
            backward_plainly(got, dw, n, exact);
            assert_bits("backward", dz, exact, n);
        }
}
END_TEST

/* Rows go through the passes a few together; the last ones are fewer. */
START_TEST(softmax_of_many_rows_is_that_of_each) {
    enum { ROWS = 19, N = 11 };
    const tt_kernels *kernels = kernels_of(_i);
    double z[ROWS * N], got[ROWS * N], expected[N];
    tt_rng rng;
    tt_rng_seed(&rng, 8);
    tt_rng_normal(&rng, z, ROWS * N);
    for (int j = 0; j < N; j++) z[5 * N + j] *= 400; /* a row with weights of 0 */
    if (kernels) kernels->softmax(z, ROWS, N, got);
    for (tt_size r = 0; kernels && r < ROWS; r++) {
        softmax_plainly(z + r * N, N, expected);
        assert_bits("softmax", got + r * N, expected, N);
    }
}
END_TEST

/* Of x by a factor, or of x - y. */
static double sum_squares_plainly(const double *x, const double *y, double by, tt_size n) {
    double sum = 0;
    for (tt_size i = 0; i < n; i++) {
        const double d = y ? x[i] - y[i] : x[i] * by;
        sum += d * d;
    }
    return sum;
}

/* Numbers of all sizes; sums far below 1; terms that lie just between two neighbours of the sum,
 * which is 2^51 after two of them; sums that overflow, and what is no number. */
START_TEST(sums_of_squares_have_the_bits_of_one_after_the_other) {
    enum { MOST = 700 };
    const tt_kernels *kernels = kernels_of(_i);
    double x[MOST], y[MOST], got, expected;
    tt_rng rng;
    tt_rng_seed(&rng, 9);
    for (int kind = 0; kernels && kind < 6; kind++)
        for (tt_size n = 0; n <= MOST; n += 1 + n / 5) {
            tt_rng_normal(&rng, x, n);
            tt_rng_normal(&rng, y, n);
            for (tt_size i = 0; i < n; i++) {
                if (kind == 1) x[i] *= 0x1p-500;
                if (kind == 2) x[i] = i < 2 ? 0x1p25 : 0.5 + floor(fabs(x[i])), y[i] = 0;
                if (kind == 3) x[i] *= ldexp(1, (int)i % 60);
                if (kind == 4 && i > MOST / 2) x[i] *= 0x1p509;
            }
            if (kind == 5 && n > 0) x[n / 2] = n % 2 ? NAN : INFINITY;
            got = kernels->largest_size(x, n);
            expected = 0;
            for (tt_size i = 0; i < n; i++)
                if (!(fabs(x[i]) <= expected)) expected = isnan(expected) ? expected : fabs(x[i]);
            assert_bits("largest size", &got, &expected, 1);
            got = kernels->squares(x, 0.5, n);
            expected = sum_squares_plainly(x, NULL, 0.5, n);
            assert_bits("squares", &got, &expected, 1);
            got = kernels->squared_differences(x, y, n, 0);
            expected = sum_squares_plainly(x, y, 1, n);
            assert_bits("squared differences", &got, &expected, 1);
        }
}
END_TEST

START_TEST(logarithms_have_the_scalar_functions_bits) {
    const tt_kernels *kernels = kernels_of(_i);
    double x[LONGEST], got[LONGEST], expected[LONGEST];
    tt_rng rng;
    tt_rng_seed(&rng, 5);
    for (tt_size n = 0; kernels && n <= LONGEST; n++)
        for (int special = 0; special < 2; special++) {
            tt_rng_uniform(&rng, x, n);
            if (special && n > 0) x[n / 2] = n % 2 ? 0 : 0x1.8p-1060;
            kernels->log(x, n, got);
            for (tt_size j = 0; j < n; j++) expected[j] = tt_log(x[j]);
            assert_bits("log", got, expected, n);
        }
}
END_TEST

START_TEST(normals_have_the_bits_of_one_pair_after_the_other) {
    const tt_kernels *kernels = kernels_of(_i);
    double got[32], expected[32];
    tt_rng rng;
    tt_rng_seed(&rng, 6);
    for (int times = 0; kernels && times < 100; times++) {
        tt_rng_uniform(&rng, got, 32);
        if (times == 0) got[0] = got[24] = 0; /* radius 0, angle 0 */
        for (int j = 0; j < 32; j++) {
            const int first = j & ~8;
            const double radius = sqrt(-2 * tt_log(1 - got[first]));
            const double angle = 6.283185307179586476925286766559 * got[first + 8];
            expected[j] = radius * (j == first ? tt_cos(angle) : tt_sin(angle));
        }
        kernels->normals(got, 2);
        assert_bits("normals", got, expected, 32);
    }
}
END_TEST

/* ---- The fused multiply-add ------------------------------------------------------------------ */

static void check_fma(double a, double b, double c) {
    const fma_range of_a = {fabs(a), fabs(a)}, of_b = {fabs(b), fabs(b)}, of_c = {fabs(c), fabs(c)};
    const double expected = fma(a, b, c);
    const double got = fma_lanes(lanes_all(a), lanes_all(b), lanes_all(c))[1];
    ck_assert(a == 0 || b == 0 || fma_fits(of_a, of_b, of_c, 1));
    ck_assert_msg(memcmp(&got, &expected, sizeof got) == 0, "fma(%a, %a, %a): %a, not %a", a, b, c,
                  got, expected);
}

/* A number of so many bits, of either sign, times 2^exponent. */
static double draw_number(tt_rng *rng, int bits, int exponent) {
    double u;
    tt_rng_uniform(rng, &u, 1);
    return ldexp(floor(ldexp(2 * u - 1, bits)), exponent - bits);
}

/* Few bits make ties likely: the third number's last place is just above the product's. */
START_TEST(fused_multiply_add_rounds_ties_to_even) {
    tt_rng rng;
    tt_rng_seed(&rng, 7);
    for (int i = 0; i < 60000; i++) {
        const double a = draw_number(&rng, 4 + i % 24, 0), b = draw_number(&rng, 27, 0);
        check_fma(a, b, draw_number(&rng, 53, i % 60 - 3));
        check_fma(a, b, ldexp(draw_number(&rng, 3, 0), i % 60));
    }
}
END_TEST

/* (1 + e)(1 - e) = 1 - e^2, half a last place of c and all but e^2 of a tie, which only rounding to
 * odd remembers; with the sign of either. */
START_TEST(fused_multiply_add_breaks_ties_by_what_is_far_below) {
    for (int i = 27; i < 52; i++)
        for (int odd = 1; odd < 64; odd++) {
            const double e = ldexp(1, -i), c = 0x1p53 + 2 * odd;
            check_fma(1 + e, 1 - e, c);
            check_fma(1 + e, e - 1, c);
            check_fma(1 + e, 1 - e, -c);
        }
}
END_TEST

/* The last double below the tie, and a little: one step further up would be the tie. */
START_TEST(fused_multiply_add_does_not_step_from_an_odd_last_bit) {
    tt_rng rng;
    tt_rng_seed(&rng, 10);
    for (int i = 0; i < 2000; i++) {
        double u;
        tt_rng_uniform(&rng, &u, 1);
        check_fma(1 + u, (1 - 0x1p-53) / (1 + u), 0x1p53 + 2 * (i % 64));
        check_fma(1 + u, (0x1p-53 - 1) / (1 + u), -0x1p53 - 2 * (i % 64));
    }
}
END_TEST

START_TEST(fused_multiply_add_is_exact_where_all_but_the_last_bits_cancel) {
    tt_rng rng;
    tt_rng_seed(&rng, 8);
    for (int i = 0; i < 60000; i++) {
        const double a = draw_number(&rng, 53, i % 7), b = draw_number(&rng, 53, -(i % 5));
        check_fma(a, b, -(a * b));
        check_fma(a, b, nextafter(-(a * b), i % 2 ? INFINITY : -INFINITY));
        check_fma(a, b, ldexp(-(a * b), i % 3 - 1));
    }
}
END_TEST

START_TEST(fused_multiply_add_is_exact_for_far_exponents) {
    tt_rng rng;
    tt_rng_seed(&rng, 9);
    for (int i = 0; i < 120000; i++) {
        const int of_a = i % 960 - 480, of_b = i % 479 - 239;
        const double a = draw_number(&rng, 53, of_a), b = draw_number(&rng, 53, of_b);
        if (fabs(a * b) < 0x1p-960) continue;
        check_fma(a, b, draw_number(&rng, 53, of_a + of_b + i % 230 - 115));
        check_fma(a, b, draw_number(&rng, 53, -1022 - i % 50)); /* subnormal too */
    }
    check_fma(0x1p-480, -0x1p-480, 0x1p-1074);
    check_fma(0x1p-480, 0x1.8p-480, -0x1p-960);
}
END_TEST

START_TEST(fused_multiply_add_gives_zeros_their_sign) {
    static const double ZEROS[] = {0.0, -0.0};
    for (int i = 0; i < 8 && fma_knows_minus_zero(); i++) {
        check_fma(ZEROS[i & 1], i & 2 ? -3 : 3, ZEROS[i >> 2]);
        check_fma(i & 1 ? 2 : -2, i & 2 ? -3 : 3, (i & 1) == (i >> 1 & 1) ? 6 : -6);
    }
}
END_TEST

START_TEST(what_the_additions_cannot_carry_is_told) {
    const fma_range one = {1, 1}, none = {INFINITY, 0}, zero = {1, 0};
    ck_assert(fma_fits(one, one, one, 1) && fma_fits(none, one, zero, 1000));
    ck_assert(!fma_fits((fma_range){1, 0x1p990}, one, one, 1));
    ck_assert(!fma_fits((fma_range){1, 0x1p600}, (fma_range){1, 0x1p420}, one, 1));
    ck_assert(!fma_fits((fma_range){1, 0x1p600}, (fma_range){1, 0x1p415}, one, 64));
    ck_assert(!fma_fits((fma_range){0x1p-500, 1}, (fma_range){0x1p-461, 1}, one, 1));
    ck_assert(!fma_fits(one, one, (fma_range){1, 0x1p1020}, 1));
    fma_range range = {INFINITY, 0};
    fma_range_add(&range, -3);
    fma_range_add(&range, 0);
    fma_range_add(&range, 0.5);
    ck_assert(range.least == 0.5 && range.most == 3);
    fma_range_add(&range, NAN);
    fma_range_add(&range, 4);
    ck_assert(!fma_fits(range, one, one, 1));
}
END_TEST

Suite *kernels_suite(void) {
    const TTest *tests[] = {fused_multiply_add_rounds_ties_to_even,
                            fused_multiply_add_breaks_ties_by_what_is_far_below,
                            fused_multiply_add_does_not_step_from_an_odd_last_bit,
                            fused_multiply_add_is_exact_where_all_but_the_last_bits_cancel,
                            fused_multiply_add_is_exact_for_far_exponents,
                            fused_multiply_add_gives_zeros_their_sign,
                            what_the_additions_cannot_carry_is_told};
    const TTest *each[] = {softmax_and_its_backward_have_the_plain_definitions_bits,
                           softmax_of_many_rows_is_that_of_each,
                           sums_of_squares_have_the_bits_of_one_after_the_other,
                           logarithms_have_the_scalar_functions_bits,
                           normals_have_the_bits_of_one_pair_after_the_other};
    Suite *suite = suite_of("kernels", tests, LENGTH(tests), 60);
    for (int i = 0; i < LENGTH(each); i++) add_loop(suite, each[i], TT_KERNEL_COUNT, 60);
    return suite;
}
