/* test_options.c: lists, ranges and the nearest name. What is refused is tested through the program
 * (test_program.c), where the whole line can be seen. */
#include "common/options.h"

#include "suites.h"
#include "support.h"

START_TEST(lists_and_ranges_keep_the_order_given) {
    int64_t v[LIST_MOST];
    int count;
    ck_assert(options_int_list("x", "8,2..4,1", 1, 10, v, &count));
    ck_assert_int_eq(count, 5);
    ck_assert(v[0] == 8 && v[1] == 2 && v[2] == 3 && v[3] == 4 && v[4] == 1);
}
END_TEST

START_TEST(numbers_in_scientific_notation_are_read) {
    double v[LIST_MOST];
    int count;
    ck_assert(options_positive_list("x", "1e-3,0.5,2", v, &count));
    ck_assert(count == 3 && v[0] == 1e-3 && v[1] == 0.5 && v[2] == 2);
}
END_TEST

START_TEST(the_nearest_name_is_found_and_far_ones_are_not) {
    static const char *const NAMES[] = {"seed", "steps", "scale"};
    ck_assert_str_eq(options_nearest("sede", NAMES, 3), "seed");
    ck_assert_str_eq(options_nearest("step", NAMES, 3), "steps");
    ck_assert(options_nearest("temperature", NAMES, 3) == NULL);
}
END_TEST

Suite *options_suite(void) {
    const TTest *tests[] = {lists_and_ranges_keep_the_order_given,
                            numbers_in_scientific_notation_are_read,
                            the_nearest_name_is_found_and_far_ones_are_not};
    return suite_of("options", tests, LENGTH(tests), 60);
}
