/* test_output.c: numbers that read back exactly under any locale, and files whole or not there. */
#include "common/output.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suites.h"
#include "support.h"

static void assert_number(double x, const char *expected) {
    char buffer[NUMBER_BYTES];
    ck_assert_str_eq(output_number(buffer, x), expected);
}

START_TEST(numbers_are_short_and_exact) {
    assert_number(0.1, "0.1");
    assert_number(1, "1");
    assert_number(-2.5e-300, "-2.5e-300");
    assert_number(1.0 / 3, "0.3333333333333333");
    assert_number(0.1 + 0.2, "0.30000000000000004");
    assert_number(1e22, "1e+22");
    assert_number(NAN, "nan");
    assert_number(-INFINITY, "-inf");
}
END_TEST

START_TEST(every_double_reads_back) {
    tt_rng rng;
    char buffer[NUMBER_BYTES];
    double x[1000];
    tt_rng_seed(&rng, 6);
    tt_rng_normal(&rng, x, 1000);
    for (int i = 0; i < 1000; i++) {
        double y = x[i] * pow(10, i % 600 - 300);
        ck_assert(strtod(output_number(buffer, y), NULL) == y);
    }
}
END_TEST

/* A locale with a decimal comma: the one that the Makefile builds, or one of the system's. */
static bool use_comma_locale(void) {
    static const char *const NAMES[] = {"comma", "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    (void)setenv("LOCPATH", TEST_LOCALES, 1);
    for (int i = 0; i < LENGTH(NAMES); i++)
        if (setlocale(LC_ALL, NAMES[i]) && strcmp(localeconv()->decimal_point, ",") == 0)
            return true;
    (void)unsetenv("LOCPATH");
    for (int i = 0; i < LENGTH(NAMES); i++)
        if (setlocale(LC_ALL, NAMES[i]) && strcmp(localeconv()->decimal_point, ",") == 0)
            return true;
    puts("note: this system has no locale with a decimal comma; the locale is not tested");
    return false;
}

START_TEST(numbers_have_a_point_under_a_locale_with_a_comma) {
    if (!use_comma_locale()) return;
    assert_number(0.1 + 0.2, "0.30000000000000004");
    assert_number(-1.5e-9, "-1.5e-09");
    assert_number(12, "12");
}
END_TEST

START_TEST(an_earlier_file_stays_until_commit) {
    const char *path = SCRATCH "made/up/folder/whole.txt";
    output o;
    ck_assert(output_open(&o, path));
    (void)fputs("first", o.stream);
    ck_assert(output_close(&o) && output_commit(&o));
    ck_assert(output_open(&o, path));
    (void)fputs("second", o.stream);
    char *now = read_whole(path);
    ck_assert_str_eq(now, "first");
    free(now);
    ck_assert(output_close(&o) && output_commit(&o));
    now = read_whole(path);
    ck_assert_str_eq(now, "second");
    free(now);
}
END_TEST

START_TEST(a_discarded_file_leaves_nothing) {
    const char *path = SCRATCH "discarded.txt";
    output o;
    struct stat info;
    (void)unlink(path);
    ck_assert(output_open(&o, path));
    (void)fputs("half", o.stream);
    output_discard(&o);
    ck_assert(stat(path, &info) != 0);
    ck_assert(stat(SCRATCH "discarded.txt.tmp", &info) != 0);
}
END_TEST

START_TEST(neighbours_drop_the_csv_ending_only) {
    char *a = output_beside("r/x.csv", ".meta"), *b = output_beside("r/x.txt", "_bands.csv");
    ck_assert_str_eq(a, "r/x.meta");
    ck_assert_str_eq(b, "r/x.txt_bands.csv");
    free(a);
    free(b);
}
END_TEST

Suite *output_suite(void) {
    const TTest *tests[] = {numbers_are_short_and_exact,
                            every_double_reads_back,
                            numbers_have_a_point_under_a_locale_with_a_comma,
                            an_earlier_file_stays_until_commit,
                            a_discarded_file_leaves_nothing,
                            neighbours_drop_the_csv_ending_only};
    return suite_of("output", tests, LENGTH(tests), 60);
}
