/* test_options.c: lists, ranges, words and the nearest name. What is refused is tested through the
 * program (test_program.c), where the whole line can be seen. */
#include "common/options.h"
#include "common/quote.h"

#include <stdlib.h>
#include <string.h>

#include "common/change.h"
#include "common/scale_option.h"
#include "common/text.h"
#include "suites.h"
#include "support.h"

static const char *colour(int i) {
    static const char *const WORDS[] = {"red", "blue", NULL};
    return WORDS[i];
}

static const option_spec SPECS[] = {{"x", "LIST", "7", ""}, {"colour", "NAME", "", ""}};
static const option_words WORDS[] = {{"colour", colour}, {NULL, NULL}};
static const command_spec COMMAND = {.name = "test", .options = SPECS, .count = 2, .words = WORDS};

static options given(const char *x, const char *word) {
    return (options){.command = &COMMAND, .text = {x, word}};
}

START_TEST(lists_and_ranges_keep_the_order_given) {
    const options o = given("8,2..4,1", "");
    int64_t v[LIST_MOST];
    int count;
    ck_assert(options_int_list(&o, "x", 1, 10, v, &count));
    ck_assert_int_eq(count, 5);
    ck_assert(v[0] == 8 && v[1] == 2 && v[2] == 3 && v[3] == 4 && v[4] == 1);
}
END_TEST

START_TEST(numbers_in_scientific_notation_are_read) {
    const options o = given("1e-3,0.5,2", "");
    double v[LIST_MOST];
    int count;
    ck_assert(options_positive_list(&o, "x", v, &count));
    ck_assert(count == 3 && v[0] == 1e-3 && v[1] == 0.5 && v[2] == 2);
}
END_TEST

START_TEST(a_range_of_numbers_doubles_up_to_its_end) {
    const options o = given("3,0.25..2,0.3..0.5", "");
    const double expected[] = {3, 0.25, 0.5, 1, 2, 0.3};
    double v[LIST_MOST];
    int count;
    ck_assert(options_positive_list(&o, "x", v, &count));
    ck_assert_int_eq(count, LENGTH(expected));
    for (int i = 0; i < count; i++) ck_assert(v[i] == expected[i]);
}
END_TEST

START_TEST(a_word_is_found_by_its_place) {
    const options o = given("1", "blue"), none = given("1", SPECS[1].standard);
    int place;
    ck_assert(options_choice(&o, "colour", &place) && place == 1);
    ck_assert(options_choice(&none, "colour", &place) && place == -1);
    ck_assert(options_given(&o, "colour") && !options_given(&none, "colour"));
}
END_TEST

START_TEST(the_nearest_name_is_found_and_far_ones_are_not) {
    static const char *const NAMES[] = {"seed", "steps", "scale"};
    ck_assert_str_eq(options_nearest("sede", NAMES, 3), "seed");
    ck_assert_str_eq(options_nearest("step", NAMES, 3), "steps");
    ck_assert(options_nearest("temperature", NAMES, 3) == NULL);
}
END_TEST

START_TEST(all_stands_for_every_scaling_rule) {
    static scale_list list;
    ck_assert(scale_list_read("0.5,all", &list));
    ck_assert_str_eq(list.rule[0]->name, "0.5");
    for (int i = 0; scaling_at(i); i++) ck_assert(list.rule[i + 1] == scaling_at(i));
}
END_TEST

START_TEST(a_rule_times_a_number_keeps_the_name_that_it_was_given) {
    static scale_list list, again;
    ck_assert(scale_list_read("rms*16,sqrt*1e-1,rms*-2.50", &list));
    ck_assert_str_eq(list.rule[0]->name, "rms*16");
    ck_assert_str_eq(list.rule[1]->name, "sqrt*1e-1");
    ck_assert_str_eq(list.rule[2]->name, "rms*-2.50");
    for (int i = 0; i < list.count; i++) {
        ck_assert(scale_list_read(list.rule[i]->name, &again));
        ck_assert(again.rule[0]->rule.number == list.rule[i]->rule.number);
        ck_assert(again.rule[0]->rule.factor == list.rule[i]->rule.factor);
    }
    ck_assert_str_eq(list.rule[0]->formula, "16 times RMSNorm(q).RMSNorm(k) / sqrt(d_k)");
}
END_TEST

START_TEST(a_product_of_anything_else_is_no_rule) {
    static const char *const TEXTS[] = {"foo*2", "*2",      "rms*",  "rms*x",
                                        "2*rms", "rms*2*3", "all*2", "rms*inf"};
    static scale_list list;
    for (int i = 0; i < LENGTH(TEXTS); i++) ck_assert(!scale_list_read(TEXTS[i], &list));
    ck_assert(!scale_list_read("rms*2,sqrt,rms*2.0", &list));
    ck_assert(scale_list_read("rms*2,sqrt*2,2,t5*2,linear*2", &list));
}
END_TEST

START_TEST(text_from_outside_is_one_visible_line_and_reads_back) {
    static const char *const CASES[][2] = {
        {"plain/name.csv", "plain/name.csv"},
        {"a\nb\tc\rd\\n", "a\\nb\\tc\\rd\\\\n"},
        {"\033[31m\a\x7f", "\\x1b[31m\\x07\\x7f"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x88\x9a", "gr\xc3\xbc\xc3\x9f \xe2\x88\x9a"}, /* UTF-8 stays */
        {"\xc2\x9b"
         "2J",
         "\\xc2\\x9b"
         "2J"}, /* what some terminals take for ESC [ */
        {"\x9b"
         "2J",
         "\\x9b"
         "2J"},
        {"\xe9t\xe9", "\xe9t\xe9"}}; /* Latin-1 */
    char text[64], cut[7];
    for (int i = 0; i < LENGTH(CASES); i++) {
        quote_text(text, sizeof text, CASES[i][0]);
        ck_assert_str_eq(text, CASES[i][1]);
        quote_undo(text);
        ck_assert_str_eq(text, CASES[i][0]);
    }
    quote_text(cut, sizeof cut, "abcd\033e"); /* not in the middle of a character */
    ck_assert_str_eq(cut, "abcd");
}
END_TEST

START_TEST(more_points_of_a_schedule_than_there_is_room_for_are_refused) {
    char points[65 * 8] = "";
    for (int i = 0; i < 65; i++)
        (void)sprintf(points + strlen(points), "%s%d:0.5", i ? "," : "", i + 1);
    assert_refused(2, "--schedule: more than 64 points", "stall --schedule %s", points);
}
END_TEST

START_TEST(a_change_from_or_to_0_is_no_ratio) {
    char text[128] = "";
    FILE *to = fmemopen(text, sizeof text, "w");
    ck_assert(to != NULL);
    change_print(to, 0, 0);
    (void)fputs("; ", to);
    change_print(to, 0, 2.5);
    (void)fclose(to);
    ck_assert_str_eq(text, "stayed 0; went from 0 to 2.5");
}
END_TEST

START_TEST(a_change_is_written_out_below_a_million) {
    char text[128] = "";
    FILE *to = fmemopen(text, sizeof text, "w");
    ck_assert(to != NULL);
    change_print(to, 1, 999400);
    (void)fputs("; ", to);
    change_print(to, 0.16, 7.5e-40);
    (void)fclose(to);
    ck_assert_str_eq(text, "grew 999000-fold (1 to 1e+06); fell 2.13e+38-fold (0.16 to 7.5e-40)");
}
END_TEST

START_TEST(a_word_wider_than_the_line_stays_whole) {
    char text[256] = "";
    ck_assert(setenv("COLUMNS", "20", 1) == 0);
    FILE *to = fmemopen(text, sizeof text, "w");
    ck_assert(to != NULL);
    text_flow(to, "a name-that-is-wider-than-a-line b", 2);
    (void)fclose(to);
    (void)unsetenv("COLUMNS");
    ck_assert_str_eq(text, "a\n  name-that-is-wider-than-a-line\n  b\n");
}
END_TEST

Suite *options_suite(void) {
    const TTest *tests[] = {text_from_outside_is_one_visible_line_and_reads_back,
                            lists_and_ranges_keep_the_order_given,
                            numbers_in_scientific_notation_are_read,
                            a_range_of_numbers_doubles_up_to_its_end,
                            a_word_is_found_by_its_place,
                            the_nearest_name_is_found_and_far_ones_are_not,
                            all_stands_for_every_scaling_rule,
                            a_rule_times_a_number_keeps_the_name_that_it_was_given,
                            a_product_of_anything_else_is_no_rule,
                            more_points_of_a_schedule_than_there_is_room_for_are_refused,
                            a_change_from_or_to_0_is_no_ratio,
                            a_change_is_written_out_below_a_million,
                            a_word_wider_than_the_line_stays_whole};
    return suite_of("options", tests, LENGTH(tests), 60);
}
