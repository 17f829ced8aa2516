/* test_csv.c: numbers that read back exactly under any locale, and texts that stay one field. */
#include "common/csv.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"
#include "support.h"

static void assert_number(double x, const char *expected) {
    char buffer[NUMBER_BYTES];
    ck_assert_str_eq(csv_format(buffer, x), expected);
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
        ck_assert(strtod(csv_format(buffer, y), NULL) == y);
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

START_TEST(fields_follow_their_commas) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    ck_assert(to != NULL);
    csv_number(to, 0.5);
    csv_known(to, NAN);
    csv_known(to, 2);
    csv_text(to, "plain");
    csv_text(to, "a,b \"c\"");
    (void)fclose(to);
    ck_assert_str_eq(text, ",0.5,,2,plain,\"a,b \"\"c\"\"\"");
    free(text);
}
END_TEST

Suite *csv_suite(void) {
    const TTest *tests[] = {numbers_are_short_and_exact, every_double_reads_back,
                            numbers_have_a_point_under_a_locale_with_a_comma,
                            fields_follow_their_commas};
    return suite_of("csv", tests, LENGTH(tests), 60);
}
