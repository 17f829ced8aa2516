/* test_elementary.c: the elementary functions against numbers of high precision, and their bits. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "common/hash.h"
#include "suites.h"
#include "support.h"
#include "tt/elementary.h"

#define TWO_PI 0x1.921fb54442d18p+2

typedef double function(double x);

/* The bound in ulps, as in elementary.h; how many rows the reference has; where the arguments lie
 * whose results are hashed; whether those are all arguments there are; the hash. */
static const struct {
    const char *name;
    function *at;
    double bound;
    int rows;
    double from, to;
    bool only_there;
    uint64_t hash;
} FUNCTIONS[] = {
    {"exp", tt_exp, 0.52, 1383, -750, 712, false, UINT64_C(0x997640df031dcab9)},
    {"expm1", tt_expm1, 0.65, 667, -39, 47, false, UINT64_C(0xd18cebbf64ad0c26)},
    {"log", tt_log, 0.51, 1257, 0, 3, false, UINT64_C(0xa636145dd30491c6)},
    {"log1p", tt_log1p, 0.51, 664, -1, 2, false, UINT64_C(0xa15e2a4c1ca0027c)},
    {"sin", tt_sin, 0.51, 756, 0, TWO_PI, true, UINT64_C(0x6fc2b8ad382643e8)},
    {"cos", tt_cos, 0.51, 756, 0, TWO_PI, true, UINT64_C(0xed68771c1ae4d256)},
};

static double last_place(double y) {
    int exponent;
    (void)frexp(y, &exponent);
    return ldexp(1, y == 0 || exponent < -1021 ? -1074 : exponent - DBL_MANT_DIG);
}

/* A difference of a few last places is exact, so nothing rounds but the rest, to nine digits. */
START_TEST(every_result_is_within_its_bound) {
    table t = table_read(GOLDEN "elementary.csv");
    int rows = 0;
    for (int row = 0; row < t.rows; row++) {
        if (strcmp(table_text(&t, row, "function"), FUNCTIONS[_i].name) != 0) continue;
        rows++;
        const double x = table_number(&t, row, "x"), y = table_number(&t, row, "y");
        const double got = FUNCTIONS[_i].at(x);
        if (FUNCTIONS[_i].only_there && !(x >= FUNCTIONS[_i].from && x <= FUNCTIONS[_i].to)) {
            ck_assert(isnan(got));
            continue;
        }
        const double error = (got - y) / last_place(y) - table_number(&t, row, "rest");
        ck_assert_msg(fabs(error) <= FUNCTIONS[_i].bound, "%s(%a): %a is not %a, by %g ulp",
                      FUNCTIONS[_i].name, x, got, y, error);
    }
    ck_assert_int_eq(rows, FUNCTIONS[_i].rows);
    table_free(&t);
}
END_TEST

/* Half of the arguments evenly over the range, half of all sizes below. */
START_TEST(bits_are_the_same_everywhere) {
    const double from = FUNCTIONS[_i].from, to = FUNCTIONS[_i].to;
    uint64_t hash = HASH_START; /* lowest byte first, on every machine */
    for (int i = 0; i < 20000; i++) {
        const double x = from + (to - from) * ((i + 0.5) / 20000);
        const double y = FUNCTIONS[_i].at(i % 2 ? x : ldexp(x, -(i % 120)));
        uint64_t bits;
        memcpy(&bits, &y, sizeof bits);
        for (int shift = 0; shift < 64; shift += 8) {
            const char byte = (char)(bits >> shift & 255);
            hash = hash_text(hash, &byte, 1);
        }
    }
    ck_assert_msg(hash == FUNCTIONS[_i].hash, "%s: 0x%016llx", FUNCTIONS[_i].name,
                  (unsigned long long)hash);
}
END_TEST

static void assert_value(function *at, double x, double expected) {
    const double got = at(x);
    ck_assert_msg(isnan(expected) ? isnan(got)
                                  : got == expected && !signbit(got) == !signbit(expected),
                  "at %a: %a is not %a", x, got, expected);
}

START_TEST(special_values_are_those_of_annex_f) {
    const double most = DBL_MAX, least = 0x1p-1074;
    const struct {
        function *at;
        double x, expected;
    } CASES[] = {
        {tt_exp, 0.0, 1},
        {tt_exp, -0.0, 1},
        {tt_exp, -INFINITY, 0},
        {tt_exp, INFINITY, INFINITY},
        {tt_exp, most, INFINITY},
        {tt_exp, -most, 0},
        {tt_exp, least, 1},
        {tt_exp, 709.79, INFINITY},
        {tt_exp, -745.13, least},
        {tt_exp, -745.14, 0},
        {tt_expm1, 0.0, 0.0},
        {tt_expm1, -0.0, -0.0},
        {tt_expm1, -INFINITY, -1},
        {tt_expm1, INFINITY, INFINITY},
        {tt_expm1, most, INFINITY},
        {tt_expm1, -most, -1},
        {tt_expm1, -least, -least},
        {tt_log, 0.0, -INFINITY},
        {tt_log, -0.0, -INFINITY},
        {tt_log, 1, 0.0},
        {tt_log, INFINITY, INFINITY},
        {tt_log, -INFINITY, NAN},
        {tt_log, -least, NAN},
        {tt_log1p, 0.0, 0.0},
        {tt_log1p, -0.0, -0.0},
        {tt_log1p, -1, -INFINITY},
        {tt_log1p, INFINITY, INFINITY},
        {tt_log1p, -INFINITY, NAN},
        {tt_log1p, -1.5, NAN},
        {tt_log1p, least, least},
        {tt_sin, 0.0, 0.0},
        {tt_sin, -0.0, -0.0},
        {tt_sin, least, least},
        {tt_sin, -least, NAN},
        {tt_sin, INFINITY, NAN},
        {tt_sin, -INFINITY, NAN},
        {tt_sin, 0x1.921fb54442d19p+2, NAN},
        {tt_cos, 0.0, 1},
        {tt_cos, -0.0, 1},
        {tt_cos, TWO_PI, 1},
        {tt_cos, -least, NAN},
        {tt_cos, INFINITY, NAN},
        {tt_cos, 0x1.921fb54442d19p+2, NAN},
    };
    for (int i = 0; i < LENGTH(CASES); i++)
        assert_value(CASES[i].at, CASES[i].x, CASES[i].expected);
    for (int i = 0; i < LENGTH(FUNCTIONS); i++) assert_value(FUNCTIONS[i].at, NAN, NAN);
}
END_TEST

/* The doubles nearest to multiples of pi/2: what is left of pi is the sine, so all of its bits are
 * those of pi from the 54th on. */
START_TEST(zeros_of_the_circle_are_told_from_the_nearest_doubles) {
    ck_assert(tt_cos(0x1.921fb54442d18p+0) == 0x1.1a62633145c07p-54);
    ck_assert(tt_sin(0x1.921fb54442d18p+1) == 0x1.1a62633145c07p-53);
    ck_assert(tt_cos(0x1.2d97c7f3321d2p+2) == -0x1.a79394c9e8a0ap-53);
    ck_assert(tt_sin(TWO_PI) == -0x1.1a62633145c07p-52);
}
END_TEST

/* 100 doubles on either side of x. */
static void assert_rises(function *at, double x) {
    for (int i = 0; i < 100; i++) x = nextafter(x, -INFINITY);
    double before = at(x);
    for (int i = 0; i < 200; i++) {
        x = nextafter(x, INFINITY);
        const double y = at(x);
        ck_assert_msg(y >= before, "at %a: %a after %a", x, y, before);
        before = y;
    }
}

/* Where a row of a table, or a formula, follows another, and where the result becomes subnormal. */
START_TEST(nothing_falls_between_neighbours) {
    for (int i = -80; i <= 80; i++) {
        assert_rises(tt_exp, (i + 0.5) * 0x1.62e42fefa39efp-7);
        assert_rises(tt_expm1, (i + 0.5) * 0x1.62e42fefa39efp-7);
        assert_rises(tt_exp, -708.4 + (i + 0.5) * 0x1.62e42fefa39efp-7);
    }
    for (int j = 0; j < 128; j++) {
        const double m = 1 + j * 0x1p-7;
        assert_rises(tt_log, m);
        assert_rises(tt_log, m / 2);
        assert_rises(tt_log, ldexp(m, 600));
        assert_rises(tt_log1p, m - 1);
        assert_rises(tt_log1p, m / 2 - 1);
    }
    assert_rises(tt_log, DBL_MIN);
    assert_rises(tt_expm1, 0.125);
    assert_rises(tt_expm1, -0.125);
    assert_rises(tt_expm1, 45);
    assert_rises(tt_expm1, -37.5);
    assert_rises(tt_log1p, -0x1p-8);
}
END_TEST

Suite *elementary_suite(void) {
    const TTest *tests[] = {special_values_are_those_of_annex_f,
                            zeros_of_the_circle_are_told_from_the_nearest_doubles,
                            nothing_falls_between_neighbours};
    Suite *suite = suite_of("elementary", tests, LENGTH(tests), 60);
    add_loop(suite, every_result_is_within_its_bound, LENGTH(FUNCTIONS), 60);
    add_loop(suite, bits_are_the_same_everywhere, LENGTH(FUNCTIONS), 60);
    return suite;
}
