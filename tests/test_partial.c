/* test_partial.c: what an interrupted sweep left is taken over as it was written, or refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/partial.h"
#include "common/settings.h"
#include "common/stop.h"
#include "suites.h"
#include "support.h"
#include "training/columns.h"
#include "training/sweep_runs.h"

#define TARGET SCRATCH "left.csv"
#define PARTIAL TARGET ".partial"
#define SETTINGS "lr = 1,0.5\nsteps = 9\n"
#define SAID SCRATCH "left.txt"

/* Two widths, rules, optimizers and rates: each part of a run's name tells some apart. */
static sweep sweep_of_sixteen(void) {
    static const int64_t d_k[] = {3, 8}, seed[] = {0};
    static const scaling *scale[2];
    static optimizer_rate rate[4];
    sweep s;
    scale[0] = scaling_find("none");
    scale[1] = scaling_find("sqrt");
    for (int i = 0; i < 4; i++)
        rate[i] = (optimizer_rate){optimizer_find(i < 2 ? "sgd" : "adam"), i % 2 ? 0.5 : 1};
    const sweep_config config = {
        .d_k = d_k,
        .d_k_count = 2,
        .scale = scale,
        .scale_count = 2,
        .rate = rate,
        .rate_count = 4,
        .seed = seed,
        .seed_count = 1,
        .training = {.batch = 2, .tokens = 3, .d_model = 4, .d_v = 2, .target_gain = 1},
        .recipe = RECIPE_PLAIN,
        .steps = 9,
        .every = 4,
        .gain = 1,
        .threads = 1};
    ck_assert(sweep_new(&s, &config));
    return s;
}

/* A run as if it were trained; all its numbers are its own, and one diverged before it had any. */
static void finish(sweep *s, tt_size i) {
    run *c = &s->runs[i];
    ck_assert(sweep_make_rows(s, c));
    for (c->row_count = 0; c->row_count < (i == 1 ? 0 : 3); c->row_count++) {
        c->rows[c->row_count].step = 4 * c->row_count;
        for (int k = 0; k < columns_count(); k++)
            c->rows[c->row_count].value[k] = (double)(100 * i + 10 * c->row_count) + k / 64.0;
    }
    c->steps = 9 - i % 2;
    c->ratio = i == 3 ? (double)INFINITY : 0.1 * (double)i;
    c->middle = 0.3 * (double)i;
    c->finished = true;
}

/* Writes the file of a sweep of which the runs at odd places are complete. */
static void leave(void) {
    sweep s = sweep_of_sixteen();
    const partial_runs runs = sweep_runs(&s, "stall");
    partial p;
    (void)unlink(PARTIAL);
    ck_assert(partial_open(&p, TARGET, SETTINGS, &runs, false));
    for (tt_size i = 1; i < s.count; i += 2) {
        finish(&s, i);
        ck_assert(partial_add(&p, i));
    }
    partial_close(&p);
    sweep_free(&s);
}

/* Goes on from it; what was said is in SAID. */
static bool resume(sweep *s, const char *settings) {
    *s = sweep_of_sixteen();
    const partial_runs runs = sweep_runs(s, "stall");
    partial p;
    ck_assert(freopen(SAID, "w", stderr) != NULL);
    const bool good = partial_open(&p, TARGET, settings, &runs, true);
    (void)fflush(stderr);
    partial_close(&p);
    return good;
}

static void assert_said(const char *part) {
    char *said = read_whole(SAID);
    assert_one_line(said, part);
    free(said);
}

static void assert_resume_refused(const char *part) {
    sweep s;
    ck_assert_msg(!resume(&s, SETTINGS), "not refused: %s", part);
    assert_said(part);
    sweep_free(&s);
}

static void assert_same_run(const run *a, const run *b) {
    ck_assert_int_eq(a->steps, b->steps);
    ck_assert(a->ratio == b->ratio && a->middle == b->middle);
    ck_assert_int_eq(a->row_count, b->row_count);
    for (tt_size r = 0; r < a->row_count; r++) {
        ck_assert_int_eq(a->rows[r].step, b->rows[r].step);
        for (int k = 0; k < columns_count(); k++)
            ck_assert(a->rows[r].value[k] == b->rows[r].value[k]);
    }
}

static void assert_taken_over(void) {
    sweep s, whole = sweep_of_sixteen();
    ck_assert(resume(&s, SETTINGS));
    for (tt_size i = 0; i < s.count; i++) {
        ck_assert_int_eq(s.runs[i].finished, i % 2);
        if (i % 2 == 0) continue;
        finish(&whole, i);
        assert_same_run(&s.runs[i], &whole.runs[i]);
    }
    sweep_free(&s);
    sweep_free(&whole);
}

START_TEST(every_complete_run_comes_back_as_it_was) {
    leave();
    assert_taken_over();
    assert_taken_over(); /* from the file that the first one wrote */
}
END_TEST

/* The place behind `count` complete runs. */
static char *behind(char *text, int count) {
    for (; count > 0; count--) {
        text = strstr(text, "# complete,");
        ck_assert(text != NULL);
        text = strchr(text, '\n') + 1;
    }
    return text;
}

START_TEST(what_follows_the_last_complete_run_is_left) {
    leave();
    char *text = read_whole(PARTIAL), *rows = behind(text, 7), *last = strstr(rows, "# complete,");
    char *more = malloc(2 * strlen(text));
    ck_assert(more != NULL);
    /* rows of an eighth run, once whole and once cut off in a line */
    for (int cut = 0; cut < 2; cut++) {
        sweep s;
        (void)sprintf(more, "%.*s", (int)(last - text) - cut * 5, text);
        write_text(PARTIAL, more);
        ck_assert(resume(&s, SETTINGS));
        tt_size finished = 0;
        for (tt_size i = 0; i < s.count; i++) finished += s.runs[i].finished;
        ck_assert_int_eq(finished, 7);
        sweep_free(&s);
        leave();
    }
    free(more);
    free(text);
}
END_TEST

static bool count_finished(void *context, const run *c) {
    (void)c;
    ++*(int *)context;
    return true;
}

static void ignore_advance(void *context, tt_size steps, double work) {
    (void)context;
    (void)steps;
    (void)work;
}

START_TEST(what_was_in_work_is_trained_anew_and_nothing_else_is) {
    leave();
    char *text = read_whole(PARTIAL), *rows = behind(text, 7), *last = strstr(rows, "# complete,");
    *last = '\0'; /* leaves the rows of an eighth run */
    write_text(PARTIAL, text);
    free(text);
    sweep s;
    ck_assert(resume(&s, SETTINGS));
    int finished = 0;
    char error[256];
    const sweep_observer observer = {&finished, count_finished, ignore_advance};
    ck_assert_int_eq(sweep_train(&s, &observer, &stop_signal, error, sizeof error), SWEEP_DONE);
    ck_assert_int_eq(finished, 16 - 7);
    for (tt_size i = 0; i < s.count; i++) ck_assert_int_eq(s.runs[i].row_count, i == 1 ? 0 : 3);
    sweep_free(&s);
}
END_TEST

static void damage(const char *at_text, char with) {
    leave();
    char *text = read_whole(PARTIAL), *at = strstr(behind(text, 2), at_text);
    ck_assert(at != NULL);
    at[strlen(at_text) - 1] = with;
    write_text(PARTIAL, text);
    free(text);
}

START_TEST(a_run_that_is_not_as_it_was_written_is_refused) {
    damage(",4,510", '1'); /* a value of the third run: 511 for 510 */
    assert_resume_refused("is damaged; run without --resume");
    damage("# complete,0", '1'); /* the seed in its last line */
    assert_resume_refused("is damaged");
    damage("# c", 'd'); /* its last line is none */
    assert_resume_refused("is damaged");
}
END_TEST

START_TEST(a_run_that_is_there_twice_is_refused) {
    leave();
    char *text = read_whole(PARTIAL), *first = behind(text, 1), *second = behind(text, 2);
    char *twice = malloc(3 * strlen(text) + 1);
    ck_assert(twice != NULL);
    (void)sprintf(twice, "%.*s%.*s", (int)(second - text), text, (int)(second - first), first);
    write_text(PARTIAL, twice);
    assert_resume_refused("is damaged");
    char *line = strstr(text, "# complete,"); /* of a run without rows */
    (void)sprintf(twice, "%.*s%.*s", (int)(first - text), text, (int)(first - line), line);
    write_text(PARTIAL, twice);
    assert_resume_refused("is damaged");
    /* and rows beyond those that a run can have, though none is complete */
    char *row = strchr(first, '\n') + 1;
    (void)sprintf(twice, "%.*s", (int)(first - text), text);
    for (int i = 0; i < 5; i++) (void)strncat(twice, first, (size_t)(row - first));
    write_text(PARTIAL, twice);
    assert_resume_refused("is damaged");
    free(twice);
    free(text);
}
END_TEST

START_TEST(other_settings_and_another_version_are_told_apart) {
    sweep s;
    leave();
    ck_assert(!resume(&s, "lr = 1,0.25\nsteps = 9\n"));
    assert_said("is from a run with other settings");
    sweep_free(&s);
    char *text = read_whole(PARTIAL), *at = strstr(text, "results_version = ");
    at[strlen("results_version = ")]++;
    write_text(PARTIAL, text);
    assert_resume_refused("is of another results version than this program's");
    *strstr(text, "\n# results_version") = '\0';
    write_text(PARTIAL, text);
    assert_resume_refused("is damaged");
    free(text);
}
END_TEST

START_TEST(an_empty_file_is_a_beginning_and_that_is_said) {
    sweep s;
    write_text(PARTIAL, "");
    ck_assert(resume(&s, SETTINGS));
    assert_said("--resume: nothing to go on from; this starts at the beginning");
    sweep_free(&s);
    leave();
    ck_assert(resume(&s, SETTINGS));
    char *said = read_whole(SAID);
    ck_assert_str_eq(said, "");
    free(said);
    sweep_free(&s);
}
END_TEST

START_TEST(a_run_has_no_more_steps_than_were_asked_for) {
    sweep s = sweep_of_sixteen();
    const partial_runs runs = sweep_runs(&s, "stall");
    static const char *const STEPS[] = {"10", "-1", "nan", "1e300"};
    char end[64];
    for (int i = 0; i < LENGTH(STEPS); i++) {
        (void)snprintf(end, sizeof end, "0,3,none,sgd,1,%s,0.5,0.5", STEPS[i]);
        ck_assert_msg(!runs.read_end(runs.context, end), "%s", end);
    }
    ck_assert(runs.read_end(runs.context, "0,3,none,sgd,1,9,0.5,0.5"));
    sweep_free(&s);
}
END_TEST

/* A power cut must not cost a run that was called complete. */
START_TEST(a_complete_run_is_in_the_file_at_once) {
    sweep s = sweep_of_sixteen();
    const partial_runs runs = sweep_runs(&s, "stall");
    partial p;
    (void)unlink(PARTIAL);
    ck_assert(partial_open(&p, TARGET, SETTINGS, &runs, false));
    finish(&s, 5);
    ck_assert(partial_add(&p, 5));
    char *text = read_whole(PARTIAL);
    ck_assert(strstr(text, "# complete,0,3,sqrt,sgd,0.5,8,0.5,1.5,") != NULL);
    free(text);
    partial_remove(&p);
    partial_close(&p);
    ck_assert(access(PARTIAL, F_OK) != 0);
    sweep_free(&s);
}
END_TEST

/* Starts without --resume; whether what was there is kept as left.1.csv.partial. */
static bool is_kept(void) {
    sweep s = sweep_of_sixteen();
    const partial_runs runs = sweep_runs(&s, "stall");
    partial p;
    (void)unlink(SCRATCH "left.1.csv.partial");
    ck_assert(freopen(SAID, "w", stderr) != NULL);
    ck_assert(partial_open(&p, TARGET, SETTINGS, &runs, false));
    (void)fflush(stderr);
    partial_close(&p);
    sweep_free(&s);
    return access(SCRATCH "left.1.csv.partial", F_OK) == 0;
}

START_TEST(what_is_no_regular_file_is_left_alone) {
    (void)unlink(PARTIAL);
    ck_assert(mkfifo(PARTIAL, 0600) == 0);
    assert_resume_refused("it is no regular file");
    (void)unlink(PARTIAL);
}
END_TEST

START_TEST(a_fresh_start_keeps_what_would_be_lost) {
    leave();
    ck_assert(is_kept());
    assert_said("what --resume would go on from is kept as " SCRATCH "left.1.csv.partial");
    ck_assert(!is_kept()); /* the file of the start before has no run */
    write_text(PARTIAL, "a file of someone else\n");
    ck_assert(is_kept());
    (void)unlink(SCRATCH "left.1.csv.partial");
    (void)unlink(PARTIAL);
}
END_TEST

Suite *partial_suite(void) {
    const TTest *const tests[] = {every_complete_run_comes_back_as_it_was,
                                  what_follows_the_last_complete_run_is_left,
                                  what_was_in_work_is_trained_anew_and_nothing_else_is,
                                  a_run_that_is_not_as_it_was_written_is_refused,
                                  a_run_that_is_there_twice_is_refused,
                                  a_run_has_no_more_steps_than_were_asked_for,
                                  other_settings_and_another_version_are_told_apart,
                                  an_empty_file_is_a_beginning_and_that_is_said,
                                  a_complete_run_is_in_the_file_at_once,
                                  what_is_no_regular_file_is_left_alone,
                                  a_fresh_start_keeps_what_would_be_lost};
    return suite_of("partial", tests, LENGTH(tests), 60);
}
