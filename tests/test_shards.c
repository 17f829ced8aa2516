/* test_shards.c: an experiment dealt to several machines and merged is that of one machine, byte
 * for byte.
 */
#include <stdlib.h>
#include <string.h>

#include "common/shard.h"
#include "suites.h"
#include "support.h"

#define FOLDER SCRATCH "shards/"
#define SMALL " --steps 30 --batch 4 --tokens 5 --d-model 6 --d-v 3 "
#define STALL "stall --d-k 3,8,16 --seed 0..2 --scale none,sqrt,rms" SMALL

static void empty_folder(void) {
    ck_assert_int_eq(shell("rm -rf " FOLDER " && mkdir -p " FOLDER), 0);
}

/* Trains every share of the command into FOLDER name. */
static void run_shares(const char *command, const char *name, int count) {
    for (int i = 1; i <= count; i++)
        (void)run_well("%s --shard %d/%d --quiet --output " FOLDER "%s.csv", command, i, count,
                       name);
}

/* ---- Dealing --------------------------------------------------------------------------------- */

START_TEST(a_deal_gives_the_costliest_piece_to_whoever_has_least) {
    const double cost[] = {1, 8, 1, 5, 4, 1};
    /* 8 to the first, 5 and 4 to the second; then 1 to the first, which has 8 of 9, 1 to the first
     * of equals, and 1 to the second */
    const int expected[] = {1, 1, 1, 2, 2, 2};
    int owner[6];
    ck_assert(shard_deal(cost, 6, 2, owner));
    ck_assert_mem_eq(owner, expected, sizeof owner);
}
END_TEST

START_TEST(more_shares_than_pieces_leave_some_empty) {
    const double cost[] = {2, 1};
    int owner[2];
    ck_assert(shard_deal(cost, 2, 5, owner));
    ck_assert_int_eq(owner[0], 1);
    ck_assert_int_eq(owner[1], 2);
}
END_TEST

START_TEST(bad_shares_are_refused) {
    static const refusal CASES[] = {
        {"--shard 0/3", "--shard '0/3': expected I/N"},
        {"--shard 4/3", "--shard '4/3'"},
        {"--shard 1/1025", "N <= 1024"},
        {"--shard 2", "--shard '2'"},
        {"--shard 1/2x", "--shard '1/2x'"},
        {"--shard ' 1/2'", "--shard ' 1/2'"},
        {"--shard 1/2 --output -", "expected a regular file"},
    };
    assert_refusals(2, "stall", CASES, LENGTH(CASES));
}
END_TEST

/* ---- Merging --------------------------------------------------------------------------------- */

static const struct {
    const char *command;
    int shares;
    const char *ending[4];
} SWEEPS[] = {
    {STALL, 4, {".csv", "_runs.csv", "_summary.csv", "_bands.csv"}},
    {"map --d-k 3,64 --optimizer sgd,adam --sigma0 1..8 --kappa 1..64 --curves 10" SMALL,
     3,
     {".csv", "_curves.csv"}},
    {"map --axes lr --scale none,rms --lr 1,10 --d-k 3,64" SMALL, 2, {".csv"}},
    {"saturation --d-k 2,8,16 --keys 4,9 --rows 300 --scale none,rms", 3, {".csv", "_theory.csv"}},
    {"saturation --sigma 1,3 --keys 4,9 --rows 100", 2, {".csv", "_theory.csv"}},
};

/* What it said, but for the names of files. */
static char *said(const captured *c) {
    char *text = strdup(c->out);
    char *end = text ? strstr(text, "\nWritten: ") : NULL;
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    return text;
}

START_TEST(shares_merged_in_any_order_are_the_bytes_and_the_words_of_one_run) {
    char pair[2][96];
    empty_folder();
    run_shares(SWEEPS[_i].command, "all", SWEEPS[_i].shares);
    const captured *c = run_well("merge " FOLDER "all.csv $(ls -r " FOLDER "*.partial)");
    char *merged = said(c);
    c = run_well("%s --output " FOLDER "one.csv", SWEEPS[_i].command);
    char *alone = said(c);
    ck_assert_str_eq(merged, alone);
    for (int e = 0; e < 4 && SWEEPS[_i].ending[e]; e++) {
        (void)snprintf(pair[0], sizeof pair[0], FOLDER "all%s", SWEEPS[_i].ending[e]);
        (void)snprintf(pair[1], sizeof pair[1], FOLDER "one%s", SWEEPS[_i].ending[e]);
        assert_same_file(pair[0], pair[1]);
    }
    assert_same_file(FOLDER "all.meta", FOLDER "one.meta");
    free(merged);
    free(alone);
}
END_TEST

START_TEST(a_share_says_how_all_become_one) {
    empty_folder();
    const captured *c = run_well(STALL "--shard 2/3 --output " FOLDER "a.csv");
    assert_says(c->out, "Share 2 of 3: 9 of 27 runs, in " FOLDER "a.csv.2-of-3.partial.");
    assert_says(c->out, "sqrtdk merge " FOLDER "a.csv " FOLDER "a.csv.*-of-3.partial\n");
}
END_TEST

START_TEST(an_interrupted_share_is_resumed) {
    empty_folder();
    run_shares(STALL, "a", 2);
    char *whole = read_whole(FOLDER "a.csv.1-of-2.partial");
    char *cut = strstr(strstr(whole, "# complete,") + 1, "# complete,");
    cut[20] = '\0';
    write_text(FOLDER "a.csv.1-of-2.partial", whole);
    free(whole);
    (void)run_well(STALL "--shard 1/2 --resume --quiet --output " FOLDER "a.csv");
    (void)run_well("merge --quiet " FOLDER "a.csv " FOLDER "*.partial");
    (void)run_well(STALL "--quiet --output " FOLDER "one.csv");
    assert_same_file(FOLDER "a.csv", FOLDER "one.csv");
}
END_TEST

START_TEST(a_run_cut_off_in_one_share_is_taken_from_another) {
    empty_folder();
    run_shares(STALL, "a", 2);
    char *whole = read_whole(FOLDER "a.csv.1-of-2.partial");
    char *cut = strstr(whole, "# complete,");
    *cut = '\0';
    write_text(FOLDER "cut.partial", whole);
    free(whole);
    (void)run_well("merge --quiet " FOLDER "a.csv " FOLDER "cut.partial " FOLDER "a.csv.*");
    (void)run_well(STALL "--quiet --output " FOLDER "one.csv");
    assert_same_file(FOLDER "a.csv", FOLDER "one.csv");
}
END_TEST

START_TEST(shares_of_other_settings_are_refused_with_the_setting) {
    empty_folder();
    (void)run_well("saturation --keys 4 --rows 50 --shard 1/2 --quiet --output " FOLDER "a.csv");
    (void)run_well("saturation --keys 4 --rows 60 --shard 2/2 --quiet --output " FOLDER "a.csv");
    assert_refused(1,
                   "a.csv.2-of-2.partial: its settings are others: rows = 60, where the first "
                   "file has rows = 50",
                   "merge " FOLDER "m.csv " FOLDER "a.csv.1-of-2.partial " FOLDER
                   "a.csv.2-of-2.partial");
}
END_TEST

START_TEST(what_is_no_share_is_refused) {
    empty_folder();
    write_text(FOLDER "empty", "");
    write_text(FOLDER "text", "# sqrtdk of nothing\n");
    run_shares(STALL, "a", 2);
    static const refusal CASES[] = {
        {FOLDER "no", "cannot open " FOLDER "no: No such file"},
        {FOLDER "empty", "expected a file that --shard left"},
        {FOLDER "text", "expected a file that --shard left"},
        {FOLDER "a.csv.1-of-2.partial " FOLDER "a.csv.1-of-2.partial",
         "damaged, or with a run that an earlier file has"},
    };
    assert_refusals(1, "merge " FOLDER "m.csv", CASES, LENGTH(CASES));
    assert_refused(2, "merge: expected OUT SHARE...", "merge " FOLDER "m.csv");
    assert_refused(2, "stands where OUT is expected", "merge " FOLDER "*.partial");
    assert_refused(2, "'-' stands where OUT is expected", "merge - " FOLDER "*.partial");
    assert_refused(2, "'' stands where OUT is expected", "merge '' " FOLDER "*.partial");
}
END_TEST

/* Longer than any buffer that a line is read into. */
START_TEST(shares_with_a_long_list_of_settings_are_merged) {
    static const char COMMAND[] =
        "stall --d-k 2 --scale none --steps 1 --batch 1 --tokens 2 --d-model 1 --d-v 1 --seed "
        "$(awk 'BEGIN { for (i = 10001; i < 11000; i++) printf \"%d,\", i; print 7 }')";
    empty_folder();
    (void)run_well("%s --quiet --output " FOLDER "one.csv", COMMAND);
    run_shares(COMMAND, "a", 2);
    (void)run_well("merge --quiet " FOLDER "m.csv " FOLDER "a.csv.*");
    assert_same_file(FOLDER "m.csv", FOLDER "one.csv");
}
END_TEST

/* ---- Missing runs ---------------------------------------------------------------------------- */

START_TEST(missing_runs_are_listed_and_refused) {
    empty_folder();
    (void)run_well(STALL "--shard 1/3 --quiet --output " FOLDER "a.csv");
    const captured *c = run_program("", "merge " FOLDER "m.csv " FOLDER "a.csv.1-of-3.partial");
    ck_assert_int_eq(c->code, 1);
    assert_starts(c->out, "Missing:\n  d_k ");
    assert_says(c->out, "d_k 16 none sgd lr 1 seed 1\n");
    int lines = 0;
    for (const char *at = c->out; (at = strchr(at, '\n')); at++) lines++;
    ck_assert_int_eq(lines, 1 + 18);
    assert_one_line(c->err, "merge: 18 of 27 are in no file");
    ck_assert_int_ne(shell("ls " FOLDER "m* 2>/dev/null"), 0);
}
END_TEST

START_TEST(what_there_is_of_a_sweep_is_written_where_missing_runs_are_allowed) {
    empty_folder();
    (void)run_well(STALL "--shard 2/3 --quiet --output " FOLDER "a.csv");
    const captured *c = run_well("merge --allow-missing " FOLDER "m.csv " FOLDER "a.csv.*");
    ck_assert_ptr_null(strstr(c->out, "Stall within"));
    char *meta = read_whole(FOLDER "m.meta");
    assert_says(meta, "\nmissing = 18\n");
    free(meta);
    table runs = table_read(FOLDER "m_runs.csv"), summary = table_read(FOLDER "m_summary.csv");
    ck_assert_int_eq(runs.rows, 9);
    double seeds = 0;
    for (int i = 0; i < summary.rows; i++) seeds += table_number(&summary, i, "seeds");
    ck_assert_double_eq(seeds, 9);
    table_free(&runs);
    table_free(&summary);
}
END_TEST

START_TEST(what_was_incomplete_is_kept_beside_the_complete) {
    empty_folder();
    run_shares(STALL, "a", 2);
    (void)run_well("merge --allow-missing --quiet " FOLDER "m.csv " FOLDER "a.csv.2*");
    const captured *c = run_well("merge --quiet " FOLDER "m.csv " FOLDER "a.csv.*");
    assert_one_line(c->err, "of other settings, is kept as " FOLDER "m.1.csv");
}
END_TEST

START_TEST(cells_and_rows_that_are_missing_are_left_out_where_allowed) {
    static const char *const COMMANDS[] = {
        "map --d-k 3,64 --sigma0 1..8 --kappa 1..64" SMALL,
        "saturation --d-k 2,8 --keys 4,9 --rows 60",
    };
    empty_folder();
    run_shares(COMMANDS[_i], "a", 2);
    (void)run_well("merge --quiet " FOLDER "m.csv " FOLDER "a.csv.*");
    (void)run_well("merge --quiet --allow-missing " FOLDER "half.csv " FOLDER
                   "a.csv.1-of-2.partial");
    /* a part of the rows, in their order */
    ck_assert_int_eq(shell("cd " FOLDER
                           " && ! cmp -s half.csv m.csv && test $(wc -l <half.csv) -gt "
                           "2 && ! diff half.csv m.csv | grep '^<'"),
                     0);
}
END_TEST

START_TEST(an_interrupted_saturation_is_resumed) {
    empty_folder();
    (void)run_well("saturation --keys 4,9 --d-k 2,8 --rows 60 --quiet --output " FOLDER "one.csv");
    (void)run_well("saturation --keys 4,9 --d-k 2,8 --rows 60 --quiet --shard 1/2 --output " FOLDER
                   "a.csv");
    ck_assert_int_eq(shell("cd " FOLDER " && mv a.csv.1-of-2.partial a.csv.partial"), 0);
    (void)run_well("saturation --keys 4,9 --d-k 2,8 --rows 60 --quiet --resume --output " FOLDER
                   "a.csv");
    assert_same_file(FOLDER "a.csv", FOLDER "one.csv");
}
END_TEST

Suite *shards_suite(void) {
    const TTest *const TESTS[] = {
        a_deal_gives_the_costliest_piece_to_whoever_has_least,
        more_shares_than_pieces_leave_some_empty,
        bad_shares_are_refused,
        a_share_says_how_all_become_one,
        an_interrupted_share_is_resumed,
        a_run_cut_off_in_one_share_is_taken_from_another,
        shares_of_other_settings_are_refused_with_the_setting,
        what_is_no_share_is_refused,
        shares_with_a_long_list_of_settings_are_merged,
        missing_runs_are_listed_and_refused,
        what_there_is_of_a_sweep_is_written_where_missing_runs_are_allowed,
        what_was_incomplete_is_kept_beside_the_complete,
        an_interrupted_saturation_is_resumed,
    };
    Suite *suite = suite_of("shards", TESTS, LENGTH(TESTS), 60);
    add_loop(suite, shares_merged_in_any_order_are_the_bytes_and_the_words_of_one_run,
             LENGTH(SWEEPS), 60);
    add_loop(suite, cells_and_rows_that_are_missing_are_left_out_where_allowed, 2, 60);
    return suite;
}
