/* test_program.c: the program from outside: what it writes, says and refuses. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "common/stats.h"
#include "suites.h"
#include "support.h"
#include "training/columns.h"

/* A small experiment of several cells: a fraction of a second. */
#define SMALL                                                                                      \
    "stall --d-k 3,8 --lr 1,0.5 --seed 0..2 --steps 12 --batch 4 --tokens 5 --d-model 6 --d-v 3 "

/* ---- Results do not depend on how they came about -------------------------------------------- */

static void assert_same_run(const char *a, const char *b) {
    static const char *const ENDINGS[] = {".csv", "_runs.csv", "_summary.csv", "_bands.csv",
                                          ".meta"};
    assert_same_results(a, b, ENDINGS, LENGTH(ENDINGS));
}

START_TEST(same_bytes_for_1_2_and_5_threads) {
    run_quietly("", SMALL "--threads 1", "threads1");
    run_quietly("", SMALL "--threads 2", "threads2");
    run_quietly("", SMALL "--threads 5", "threads5");
    assert_same_run("threads1", "threads2");
    assert_same_run("threads1", "threads5");
}
END_TEST

START_TEST(same_bytes_under_a_locale_with_a_decimal_comma) {
    run_quietly("LC_ALL=C", SMALL, "point");
    run_quietly(COMMA_LOCALE, SMALL, "comma");
    assert_same_run("point", "comma");
}
END_TEST

START_TEST(a_pair_starts_from_the_same_numbers_as_each_scale_alone) {
    run_quietly("", SMALL "--scale sqrt", "alone");
    run_quietly("", SMALL, "paired");
    char *alone = read_whole(SCRATCH "alone.csv"), *paired = read_whole(SCRATCH "paired.csv");
    int rows = 0;
    for (char *line = strtok(alone, "\n"); line; line = strtok(NULL, "\n"), rows++)
        assert_says(paired, line);
    ck_assert_int_eq(rows, 1 + 2 * 2 * 3 * 4); /* header; d_k, lr, seeds; steps 0, 5, 10, 11 */
    free(alone);
    free(paired);
}
END_TEST

START_TEST(the_log_is_nested_as_documented) {
    run_quietly("", SMALL, "nested");
    char *text = read_whole(SCRATCH "nested.csv"),
         header[2048] = "seed,d_k,scale,optimizer,lr,step";
    for (int m = 0; m < columns_count(); m++) {
        strcat(strcat(header, ","), column_name(m));
        if (strcmp(column_name(m), "moved") == 0)
            strcat(header, ",init,init_gain,kappa,momentum,beta1,beta2,eps,weight_decay,clip,"
                           "schedule,warm_up,temperature_lr,temperature_from,target,target_gain");
    }
    assert_starts(text, strcat(header, "\n"));
    const char *at = text + strlen(header);
    static const char *const D_K[] = {"3", "8"}, *const SCALE[] = {"none", "sqrt"},
                             *const LR[] = {"1", "0.5"}, *const STEP[] = {"0", "5", "10", "11"};
    for (int i = 0; i < 2 * 2 * 2 * 3 * 4; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%d,%s,%s,sgd,%s,%s,", i / 4 % 3, D_K[i / 48],
                       SCALE[i / 24 % 2], LR[i / 12 % 2], STEP[i % 4]);
        assert_starts(at, key);
        at = strchr(at, '\n') + 1;
    }
    ck_assert_str_eq(at, "");
    free(text);
}
END_TEST

START_TEST(dash_writes_the_log_to_standard_output_and_nothing_else) {
    run_quietly("", SMALL, "dash");
    const captured *c = run_well(SMALL "--output -");
    char *file = read_whole(SCRATCH "dash.csv");
    ck_assert_str_eq(c->out, file);
    assert_says(c->err, "verdict");
    free(file);
}
END_TEST

/* ---- Interrupted and resumed ----------------------------------------------------------------- */

/* Long enough to be interrupted: 24 runs of 2000 small steps. */
#define LONG_RUN                                                                                   \
    "stall --d-k 3,8 --scale none,cosine --optimizer sgd,adam:0.01 --schedule 100:0.5,200:2 "      \
    "--seed 0..2 --steps 2000 --batch 4 --tokens 5 --d-model 6 --d-v 3 --every 400 "

static void sleep_ms(long ms) {
    struct timespec t = {0, ms * 1000000};
    (void)nanosleep(&t, NULL);
}

static int complete_runs(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) return 0;
    char *text = read_whole(path);
    int count = 0;
    for (const char *at = text; (at = strstr(at, "\n# complete,")); at++) count++;
    free(text);
    return count;
}

/* Starts the long run, waits until cells are complete and sends the signal; returns the status. An
 * earlier result, if the test made one, is there all the while. */
static int interrupt_long_run(const char *name, int number) {
    char command[512], partial[256];
    (void)snprintf(partial, sizeof partial, SCRATCH "%s.csv.partial", name);
    (void)snprintf(command, sizeof command,
                   "exec " TEST_PROGRAM " " LONG_RUN "--threads 1 --output " SCRATCH
                   "%s.csv 2>" SCRATCH "interrupt.err",
                   name);
    (void)unlink(partial);
    (void)fflush(NULL);
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(99);
    }
    int status, waited = 0;
    while (complete_runs(partial) < 3 && waited++ < 30000) sleep_ms(2);
    ck_assert(kill(child, number) == 0);
    ck_assert(waitpid(child, &status, 0) == child);
    return status;
}

static void resume_and_compare(const char *name) {
    run_quietly("", LONG_RUN "--threads 2 --resume", name);
    run_quietly("", LONG_RUN "--threads 2", "unbroken");
    assert_same_run(name, "unbroken");
}

START_TEST(ctrl_c_keeps_complete_runs_and_resume_ends_with_the_same_bytes) {
    const char *partial = SCRATCH "broken.csv.partial";
    (void)unlink(SCRATCH "broken.csv");
    int status = interrupt_long_run("broken", SIGINT);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 130);
    char *said = read_whole(SCRATCH "interrupt.err");
    assert_one_line(said, "broken.csv.partial");
    free(said);
    ck_assert_int_ge(complete_runs(partial), 3);
    ck_assert(access(SCRATCH "broken.csv", F_OK) != 0);
    resume_and_compare("broken");
    ck_assert(access(partial, F_OK) != 0);
}
END_TEST

/* The program writes to a pipe that is read only after the signal has come. */
START_TEST(ctrl_c_while_a_slow_reader_reads_cuts_nothing) {
    static const char MANY_ROWS[] = SMALL "--steps 300 --every 1 ";
    int ends[2], status, filled = 0, before = -1;
    run_quietly("", MANY_ROWS, "read");
    char *whole = read_whole(SCRATCH "read.csv");
    const size_t size = strlen(whole);
    char *got = malloc(size + 1);
    ck_assert(got != NULL && pipe(ends) == 0);
    (void)fflush(NULL);
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       "exec " TEST_PROGRAM " %s --quiet --output - 2>" SCRATCH "slow.err",
                       MANY_ROWS);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(99);
    }
    (void)close(ends[1]);
    for (int tries = 0; tries < 3000 && (filled == 0 || filled > before); tries++) {
        before = filled;
        sleep_ms(20);
        ck_assert(ioctl(ends[0], FIONREAD, &filled) == 0);
    }
    ck_assert_msg((size_t)filled < size, "the pipe holds all");
    ck_assert(kill(child, SIGINT) == 0);
    size_t read_so_far = 0;
    for (ssize_t part = 1; part > 0 && read_so_far <= size; read_so_far += (size_t)part) {
        part = read(ends[0], got + read_so_far, size + 1 - read_so_far);
        ck_assert(part >= 0);
    }
    (void)close(ends[0]);
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
    ck_assert(read_so_far == size && memcmp(got, whole, size) == 0);
    free(got);
    free(whole);
}
END_TEST

START_TEST(what_is_resumed_from_nothing_and_folders_that_are_made_are_said) {
    (void)shell("rm -rf " SCRATCH "nothing");
    const captured *c = run_well(SMALL "--resume --output " SCRATCH "nothing/at/a.csv");
    assert_says(c->err, "made the folder " SCRATCH "nothing/at\n");
    assert_says(c->err, "--resume: nothing to go on from; this starts at the beginning\n");
    c = run_well(SMALL "--output " SCRATCH "nothing/there/a.csv");
    ck_assert_str_eq(c->err, "");
}
END_TEST

START_TEST(a_partial_file_cut_off_in_a_line_is_resumed_too) {
    (void)interrupt_long_run("cut", SIGKILL);
    char *text = read_whole(SCRATCH "cut.csv.partial");
    char *third = strstr(text, "\n# complete,");
    for (int i = 0; i < 2; i++) third = strstr(third + 1, "\n# complete,");
    ck_assert(truncate(SCRATCH "cut.csv.partial", third - text - 30) == 0);
    free(text);
    resume_and_compare("cut");
}
END_TEST

START_TEST(a_damaged_run_is_not_resumed) {
    (void)interrupt_long_run("damaged", SIGINT);
    char *text = read_whole(SCRATCH "damaged.csv.partial");
    char *digit = strstr(text, "\n0,"); /* the first row's first run */
    digit = strchr(strchr(digit + 1, '.'), '.') + 3;
    *digit = *digit == '5' ? '6' : '5';
    write_text(SCRATCH "damaged.csv.partial", text);
    free(text);
    assert_refused(1, "is damaged", LONG_RUN "--resume --output " SCRATCH "damaged.csv");
}
END_TEST

START_TEST(a_new_run_keeps_what_an_interrupted_one_left) {
    (void)shell("rm -f " SCRATCH "anew*");
    for (int n = 1; n <= 2; n++) {
        char kept[64], path[128];
        (void)interrupt_long_run("anew", SIGINT);
        int runs = complete_runs(SCRATCH "anew.csv.partial");
        const captured *c = run_well(SMALL "--output " SCRATCH "anew.csv");
        (void)snprintf(kept, sizeof kept, "anew.%d.csv.partial", n);
        (void)snprintf(path, sizeof path, SCRATCH "%s", kept);
        assert_one_line(c->err, kept);
        ck_assert_int_eq(complete_runs(path), runs);
    }
}
END_TEST

START_TEST(an_interruption_without_a_complete_run_is_nothing_to_keep) {
    (void)shell("rm -f " SCRATCH "early*");
    run_quietly("", SMALL, "early"); /* a file of the right beginning, without runs */
    write_text(SCRATCH "early.csv.partial",
               "# sqrtdk stall, unfinished: complete runs in the order they ended\n");
    const captured *c = run_well(SMALL "--output " SCRATCH "early.csv");
    ck_assert_str_eq(c->err, "");
    ck_assert(access(SCRATCH "early.1.csv.partial", F_OK) != 0);
}
END_TEST

/* What cannot take its place: nothing has started, so nothing is left to resume. */
START_TEST(a_run_that_could_not_start_leaves_no_partial_file) {
    (void)shell("rm -rf " SCRATCH "nostart* && mkdir " SCRATCH "nostart.csv");
    assert_refused(1, "it is a folder", SMALL "--output " SCRATCH "nostart.csv");
    ck_assert(access(SCRATCH "nostart.csv.partial", F_OK) != 0);
    (void)shell("rm -rf " SCRATCH "nostart*");
    write_text(SCRATCH "nostart.csv.partial", "");
    assert_refused(2, "expected finite ones", "stall --lr 1e308 --output " SCRATCH "nostart.csv");
    /* interrupted before the first run is complete */
    const int code =
        shell(TEST_PROGRAM " stall --d-k 3 --seed 0 --steps 1000000 --quiet --output " SCRATCH
                           "nostart.csv 2>" SCRATCH "nostart.err & pid=$!; sleep 0.5; kill $pid; "
                           "wait $pid");
    char *said = read_whole(SCRATCH "nostart.err");
    ck_assert_int_eq(code, 128 + SIGTERM);
    assert_one_line(said, "interrupted; nothing is complete");
    ck_assert(access(SCRATCH "nostart.csv.partial", F_OK) != 0);
    free(said);
}
END_TEST

/* Before any file is open: the rule's kappa is measured, a thousand times. */
START_TEST(a_run_that_is_interrupted_while_it_measures_says_so) {
    const int code = shell(TEST_PROGRAM " stall --scale keys --d-k 512 --seed 0..999 --threads 1 "
                                        "--output - 2>" SCRATCH
                                        "measuring.err & pid=$!; sleep 0.3; kill $pid; wait $pid");
    char *said = read_whole(SCRATCH "measuring.err");
    ck_assert_int_eq(code, 128 + SIGTERM);
    assert_one_line(said, "interrupted; nothing is complete");
    free(said);
}
END_TEST

START_TEST(resume_refuses_another_results_version) {
    (void)interrupt_long_run("version", SIGINT);
    ck_assert_int_eq(shell("sed 's/^# results_version = .*/# results_version = 0/' " SCRATCH
                           "version.csv.partial >" SCRATCH "version.txt && mv " SCRATCH
                           "version.txt " SCRATCH "version.csv.partial"),
                     0);
    assert_refused(1, "is of another results version",
                   LONG_RUN "--resume --output " SCRATCH "version.csv");
}
END_TEST

START_TEST(a_second_run_to_the_same_output_is_refused) {
    int code =
        shell(TEST_PROGRAM " stall --d-k 3 --seed 0 --steps 1000000 --quiet --output " SCRATCH
                           "taken.csv & pid=$!; sleep 0.3; " TEST_PROGRAM " " SMALL
                           "--output " SCRATCH "taken.csv 2>" SCRATCH "taken.err; code=$?; "
                           "kill -9 $pid; wait $pid 2>/dev/null; exit $code");
    ck_assert_int_eq(code, 1);
    char *said = read_whole(SCRATCH "taken.err");
    assert_one_line(said, "another run is writing");
    free(said);
}
END_TEST

START_TEST(a_symbolic_link_stays_and_its_target_is_written) {
    (void)unlink(SCRATCH "link.csv");
    write_text(SCRATCH "target.csv", "");
    ck_assert(symlink("target.csv", SCRATCH "link.csv") == 0);
    run_quietly("", SMALL, "link");
    struct stat info;
    ck_assert(lstat(SCRATCH "link.csv", &info) == 0 && S_ISLNK(info.st_mode));
    char *text = read_whole(SCRATCH "target.csv");
    assert_starts(text, "seed,d_k,");
    free(text);
}
END_TEST

START_TEST(closed_standard_streams_do_not_reach_a_result) {
    /* the table could not be written */
    ck_assert_int_eq(shell(TEST_PROGRAM " " SMALL "--output " SCRATCH "closed.csv >&- 2>&-"), 1);
    run_quietly("", SMALL, "open");
    assert_same_file(SCRATCH "closed.csv", SCRATCH "open.csv");
}
END_TEST

START_TEST(resume_refuses_a_partial_file_of_other_settings) {
    (void)interrupt_long_run("other", SIGINT);
    assert_refused(1, "is from a run with other settings",
                   SMALL "--resume --output " SCRATCH "other.csv");
    ck_assert_int_ge(complete_runs(SCRATCH "other.csv.partial"), 3);
}
END_TEST

START_TEST(an_interrupted_run_leaves_the_earlier_result_alone) {
    write_text(SCRATCH "kept.csv", "an earlier result");
    int status = interrupt_long_run("kept", SIGTERM);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
    char *now = read_whole(SCRATCH "kept.csv");
    ck_assert_str_eq(now, "an earlier result");
    free(now);
}
END_TEST

/* ---- Committed results ----------------------------------------------------------------------- */

/* The row of the same run in another _runs.csv. */
static int same_run(const table *t, int row, const table *other) {
    static const char *const KEYS[] = {"seed", "d_k", "scale", "lr", "steps"};
    for (int r = 0; r < other->rows; r++) {
        int same = 0;
        for (int k = 0; k < LENGTH(KEYS); k++)
            same += strcmp(table_text(t, row, KEYS[k]), table_text(other, r, KEYS[k])) == 0;
        if (same == LENGTH(KEYS)) return r;
    }
    ck_abort_msg("no run like that of row %d", row);
    return -1;
}

START_TEST(two_widths_of_the_default_run_agree_with_the_committed_results) {
    run_quietly("", "stall --d-k 8,128 --seed 0,1 --every 500", "subset");
    table got = table_read(SCRATCH "subset_runs.csv");
    table committed = table_read("experiments/expected/stall_runs.csv");
    ck_assert_int_eq(got.rows, 2 * 2 * 2); /* d_k, scales, seeds */
    for (int row = 0; row < got.rows; row++) {
        const int r = same_run(&got, row, &committed);
        ck_assert_str_eq(table_text(&got, row, "verdict"), table_text(&committed, r, "verdict"));
        /* to the last bit, also where training without the scale amplifies every rounding */
        ck_assert_str_eq(table_text(&got, row, "ratio"), table_text(&committed, r, "ratio"));
    }
    table_free(&got);
    table_free(&committed);
}
END_TEST

/* Median of 20 ratios of a log with every step, from `first` on. */
static double median_ratio(const table *t, int first) {
    double x[20];
    for (int i = 0; i < 20; i++)
        x[i] = table_number(t, first + i, "loss") / table_number(t, first + i, "loss_uniform");
    return stats_median(x, 20);
}

START_TEST(a_runs_ratios_are_medians_of_20_steps_at_its_end_and_around_its_middle) {
    run_quietly("", "stall --d-k 3 --scale sqrt --seed 0 --steps 61 --every 1 --batch 4", "ratios");
    table log = table_read(SCRATCH "ratios.csv"), runs = table_read(SCRATCH "ratios_runs.csv");
    ck_assert_int_eq(log.rows, 61);
    ck_assert(table_number(&runs, 0, "ratio") == median_ratio(&log, 41));
    ck_assert(table_number(&runs, 0, "ratio_middle") == median_ratio(&log, 20)); /* 61 / 2 - 10 */
    ck_assert(table_number(&runs, 0, "travelled") == 61);
    table_free(&log);
    table_free(&runs);
}
END_TEST

/* As a teacher tries it in class: 20 steps are too few for a word about a model with the scale. */
START_TEST(twenty_steps_stall_nobody_with_the_scale) {
    const captured *c =
        run_well("stall --d-k 512 --seed 0 --steps 20 --output " SCRATCH "class.csv");
    assert_says(c->out, "scale none: d_k 512 stalled. scale sqrt: d_k 512 early");
    assert_says(c->out, "early 1 (300)");
}
END_TEST

START_TEST(settings_that_are_not_default_stand_beside_every_run) {
    run_quietly("",
                "stall --d-k 3 --seed 0 --steps 2 --batch 4 --fixed-batch --schedule 1:0.5,2:3 "
                "--optimizer momentum,adamw --momentum 0.5 --clip 2 --learn-temperature 0.1@1",
                "settings");
    table log = table_read(SCRATCH "settings.csv"), runs = table_read(SCRATCH "settings_runs.csv");
    static const char *const EXPECTED[][3] = {/* momentum, adamw */
                                              {"optimizer", "momentum", "adamw"},
                                              {"lr", "0.1", "0.001"},
                                              {"momentum", "0.5", ""},
                                              {"beta1", "", "0.9"},
                                              {"beta2", "", "0.999"},
                                              {"eps", "", "1e-08"},
                                              {"weight_decay", "0", "0.01"},
                                              {"clip", "2", "2"},
                                              {"schedule", "1:0.5 2:3", "1:0.5 2:3"},
                                              {"warm_up", "", ""},
                                              {"temperature_lr", "0.1", "0.1"},
                                              {"temperature_from", "1", "1"},
                                              {"target", "soft", "soft"},
                                              {"target_gain", "1", "1"}};
    for (size_t i = 0; i < LENGTH(EXPECTED); i++)
        for (int run = 0; run < 2; run++) /* each has two rows */
            ck_assert_str_eq(table_text(&log, 2 * run, EXPECTED[i][0]), EXPECTED[i][1 + run]);
    ck_assert_str_eq(table_text(&runs, 0, "options"),
                     "--momentum 0.5 --clip 2 --schedule 1:0.5 2:3 --learn-temperature 0.1@1 "
                     "--batch 4 --fixed-batch");
    table_free(&log);
    table_free(&runs);
}
END_TEST

START_TEST(no_stall_is_said_as_plainly) {
    const captured *c =
        run_well("stall --d-k 8 --seed 0 --every 500 --output " SCRATCH "plain.csv");
    assert_says(c->out, "No stall within 500 steps at lr 1: scale none: d_k 8 trained. "
                        "scale sqrt: d_k 8 trained");
}
END_TEST

/* ---- Bad input ------------------------------------------------------------------------------- */

START_TEST(wrong_usage_is_one_line_that_names_it_and_exit_2) {
    static const refusal CASES[] = {
        {"stal", "did you mean stall?"},
        {"frobnicate", "unknown command 'frobnicate'"},
        {"help stal", "did you mean stall?"},
        {"help --version", "unknown command '--version'; see 'sqrtdk --help'"},
        {"help trace extra", "help: unexpected argument 'extra' after 'trace'"},
        {"trace --scale None",
         "--scale 'None': expected a rule or a finite number; did you mean none?"},
        {"trace --scale blue", "cosine, t5, rms, "},
        {"trace --scale blue", ", RULE*NUMBER or a finite number"},
        {"stall --step 5x", "--steps '5x': expected a whole number from 1"},
        {"stall --sede 1", "did you mean --seed?"},
        {"stall --temperature 1", "unknown option '--temperature'"},
        {"stall --steps", "--steps needs a value: N"},
        {"stall --quiet=yes", "--quiet takes no value"},
        {"stall 8", "unexpected argument '8'"},
        {"stall --d-k 0", "--d-k '0': expected whole numbers from 1 to 65536"},
        {"stall --d-k -8", "--d-k '-8': expected whole numbers from 1 to 65536"},
        {"stall --d-k 65537", "--d-k '65537': expected whole numbers from 1 to 65536"},
        {"stall --d-k 1e9", "--d-k '1e9': expected whole numbers"},
        {"stall --d-k eight", "--d-k 'eight': expected whole numbers"},
        {"stall --d-k 8,,16", "--d-k '8,,16': expected whole numbers"},
        {"stall --d-k 8..", "--d-k '8..': expected whole numbers"},
        {"stall --d-k 9..8", "--d-k '9..8': expected whole numbers"},
        {"stall --d-k 8,", "--d-k '8,': expected whole numbers"},
        {"stall --d-k ''", "--d-k '': expected whole numbers"},
        {"stall --d-k 8,16,8", "--d-k '8,16,8': 8 stands there twice"},
        {"stall --seed 0..9999", "--seed '0..9999': more than 1024 values"},
        {"stall --seed -1", "--seed '-1': expected whole numbers from 0 to 4294967295"},
        {"stall --lr nan", "--lr 'nan': expected finite numbers above 0"},
        {"stall --lr inf", "--lr 'inf': expected finite numbers above 0"},
        {"stall --lr -1", "--lr '-1': expected finite numbers above 0"},
        {"stall --lr 0", "--lr '0': expected finite numbers above 0"},
        {"stall --lr 1e999", "--lr '1e999': expected finite numbers above 0"},
        {"stall --lr 1,1.0", "--lr '1,1.0': 1.0 stands there twice"},
        {"stall --lr 0x1p3", "--lr '0x1p3': expected finite numbers above 0"},
        {"stall --steps 0", "--steps '0': expected a whole number from 1"},
        {"stall --tokens 1", "--tokens '1': expected a whole number from 2"},
        {"stall --threads 0", "--threads '0': expected a whole number from 1"},
        {"stall --scale no-such-rule", "--scale 'no-such-rule': expected all, none, sqrt, linear"},
        {"stall --scale sqrt,sqrt", "--scale: sqrt stands there twice"},
        {"stall --scale nan",
         "--scale 'nan': expected rules or finite numbers; did you mean none?"},
        {"stall --optimizer adam --lr-unit logit",
         "--lr-unit logit with --optimizer adam: expected"},
        {"stall --optimizer sgd,rmsprop",
         "--optimizer 'sgd,rmsprop': expected, separated by commas, "
         "NAME or NAME:LR, names being sgd, momentum, adam, adamw"},
        {"stall --optimizer adam:", "--optimizer 'adam:': expected"},
        {"stall --optimizer sgd:0", "--optimizer 'sgd:0': expected"},
        {"stall --optimizer sgd,", "--optimizer 'sgd,': expected"},
        {"stall --optimizer adam:0.1,adam:1e-1", "adam at 0.1 stands there twice"},
        {"stall --optimizer sgd:0.5,sgd --lr 0.5", "sgd at 0.5 stands there twice"},
        {"stall --optimizer sgd:0.5 --lr 1",
         "--lr 1: each optimizer of --optimizer sgd:0.5 has its"},
        {"stall --momentum 0.5", "--momentum 0.5: no optimizer of --optimizer sgd uses it"},
        {"stall --optimizer momentum --beta1 0.5", "--beta1 0.5: no optimizer of"},
        {"stall --optimizer momentum --momentum 1", "--momentum '1': expected a number from 0 to"},
        {"stall --optimizer adam --beta2 -0.1",
         "--beta2 '-0.1': expected a number from 0 to below 1"},
        {"stall --optimizer adam --eps 0", "--eps '0': expected a finite number above 0"},
        {"stall --weight-decay x", "--weight-decay 'x': expected a finite number, at least 0"},
        {"stall --clip 0", "--clip '0': expected a finite number above 0"},
        {"stall --warm-up 0", "--warm-up '0': expected a whole number from 1"},
        {"stall --schedule 100", "--schedule '100': expected STEP:FACTOR, separated by commas"},
        {"stall --schedule 100:0.5,100:0.1", "steps ascending from 0"},
        {"stall --schedule 100:0", "factors above 0"},
        {"stall --schedule 1e2:0.5", "--schedule '1e2:0.5': expected"},
        {"stall --learn-temperature 0", "--learn-temperature '0': expected a rate above 0"},
        {"stall --learn-temperature 0.1@", "--learn-temperature '0.1@': expected a rate above 0"},
        {"stall --target firm", "--target 'firm': expected soft or hard"},
        {"stall --target-gain 0", "--target-gain '0': expected a finite number above 0"},
        {"stall --init random", "--init 'random': expected standard or teacher"},
        {"stall --lr-unit volt", "--lr-unit 'volt': expected weight or logit"},
        {"stall --init-gain dk", "--init-gain 'dk': expected a number from 1e-6 to 1e6"},
        {"stall --init-gain nan", "--init-gain 'nan': expected a number from 1e-6 to 1e6"},
        {"stall --init-gain 0x10", "--init-gain '0x10': expected a number from 1e-6 to 1e6"},
        {"stall --lr 1e300 --lr-unit logit --init-gain 1e-6", "expected finite ones above 0"},
        {"stall --d-k 3 --scale none --lr-unit logit --lr 1.7000000000000002,1.7000000000000004",
         "are one rate"},
        {"stall --lr 1e308", "expected finite ones above 0"},
        {"stall --output ''", "--output '': expected a file name"},
        {"stall --resume --output -", "expected a regular file"},
        {"stall --batch 65536 --tokens 65536", "trained together, and the log need"},
    };
    assert_refusals(2, "", CASES, LENGTH(CASES));
}
END_TEST

START_TEST(what_cannot_be_written_is_exit_1_with_the_systems_reason) {
    static const refusal CASES[] = {
        {SCRATCH "afile/x.csv", "Not a directory"},
        {TEST_SCRATCH_DIR, "it is a folder"},
    };
    write_text(SCRATCH "afile", "");
    assert_refusals(1, SMALL "--output", CASES, LENGTH(CASES));
}
END_TEST

START_TEST(a_full_disk_is_exit_1_with_the_systems_reason) {
    if (access("/dev/full", W_OK) != 0) return; /* Linux has it */
    assert_refused(1, strerror(ENOSPC), SMALL "--output /dev/full");
    ck_assert_int_eq(shell(TEST_PROGRAM " " SMALL "--output - --quiet >/dev/full 2>/dev/null"), 1);
}
END_TEST

/* On a terminal that knows none of them, as TERM=dumb says. */
START_TEST(a_terminal_gets_no_escape_sequences) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return;
    char command[512], said[CAPTURE];
    (void)snprintf(command, sizeof command,
                   "exec env TERM=dumb " TEST_PROGRAM " " SMALL "--force --output " SCRATCH
                   "dumb.csv >/dev/null 2>%s",
                   ptsname(master));
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY); /* what is written waits there */
    ck_assert_int_eq(shell(command), 0);
    const ssize_t length = read(master, said, sizeof said - 1);
    ck_assert(slave >= 0 && length > 0);
    said[length] = '\0';
    assert_says(said, "24 of 24 runs");
    ck_assert_ptr_null(strchr(said, '\033'));
    ck_assert_str_eq(said + length - 1, "\r");
    (void)close(slave);
    (void)close(master);
}
END_TEST

static void assert_narrow(const char *text, size_t width, const char *what) {
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        ck_assert_msg(strcspn(at, "\n") <= width, "%s: %.120s", what, at);
}

START_TEST(nothing_for_people_is_wider_than_80_columns) {
    for (int i = 0; i < COUNT; i++)
        assert_narrow(run_well("help %s", COMMANDS[i]->name)->out, 80, COMMANDS[i]->name);
    assert_narrow(run_well("--help")->out, 80, "help");
    assert_narrow(run_well(SMALL "--force --output " SCRATCH "wide.csv")->out, 80, "stall");
    assert_narrow(run_well("saturation --d-k 1000,1024 --keys 4,64 --scale all --rows 1 --force "
                           "--output " SCRATCH "wide.csv")
                      ->out,
                  80, "saturation");
    assert_narrow(
        run_well("map --d-k 2,8 --d-model 4 --d-v 3 --batch 2 --steps 1 --force --output " SCRATCH
                 "wide.csv")
            ->out,
        80, "map");
    assert_narrow(
        run_well("precision --d-k 8 --scale none,0.0123456 --seed 0 --force --output " SCRATCH
                 "wide.csv")
            ->out,
        80, "precision");
    assert_narrow(run_well("gradcheck --d-k 8 --force --output " SCRATCH "wide.csv")->out, 80,
                  "gradcheck");
    assert_narrow(run_well("inspect --q " GOLDEN "real/layer0_q.npy --k " GOLDEN
                           "real/layer0_k.npy --scale 0.5 --force --output " SCRATCH "wide.csv")
                      ->out,
                  80, "inspect");
    assert_narrow(run_well("trace --lesson batch --backward")->out, 80, "trace");
}
END_TEST

START_TEST(a_narrow_terminal_gets_narrow_sentences) {
    const captured *c = run_program("COLUMNS=60", SMALL "--force --output " SCRATCH "narrow.csv");
    assert_narrow(c->out, 60, "stall");
    assert_narrow(run_program("COLUMNS=60", "help stall")->out, 60, "help");
}
END_TEST

/* The lines behind "Examples:" of a help page. */
static void run_examples(const char *command) {
    char *page = strdup(run_well("help %s", command)->out);
    ck_assert(page != NULL);
    char *at = strstr(page, "\nExamples:\n");
    ck_assert(at != NULL);
    int count = 0;
    (void)strtok(at, "\n");
    for (char *line; (line = strtok(NULL, "\n")); count++) {
        char in_folder[512];
        ck_assert(strncmp(line, "  sqrtdk ", 9) == 0);
        (void)snprintf(in_folder, sizeof in_folder,
                       "root=$PWD && cd " SCRATCH "examples && \"$root\"/" TEST_PROGRAM
                       " %s >/dev/null",
                       line + 9);
        int code = shell(in_folder);
        ck_assert_msg(code == (strstr(line, "--fault") != NULL), "exit %d: %s", code, line);
    }
    ck_assert_int_eq(count, 2);
    free(page);
}

START_TEST(the_examples_of_every_help_page_run) {
    ck_assert_int_eq(
        shell("rm -rf " SCRATCH "examples && mkdir -p " SCRATCH "examples && for n in q "
              "k v; do cp " GOLDEN "real/layer0_$n.npy " SCRATCH "examples/$n.npy; done"),
        0);
    const bool page = access(TEST_BUILD "/page/sqrtdk.html", R_OK) == 0; /* is built by itself */
    for (int i = 0; i < COUNT; i++)
        if (page || COMMANDS[i] != &REPORT_COMMAND) run_examples(COMMANDS[i]->name);
}
END_TEST

START_TEST(the_name_alone_shows_a_short_help) {
    const captured *c = run_well("%s", "");
    for (int i = 0; i < COUNT; i++) assert_says(c->out, COMMANDS[i]->name);
    assert_says(c->out, "sqrtdk help COMMAND");
    assert_starts(run_well("-V")->out, "sqrtdk ");
}
END_TEST

START_TEST(help_lists_every_option_with_its_default) {
    static const char *const PARTS[] = {
        "--d-k LIST",    "(default: 8,16,32,64,128,256,512)", "--lr-unit NAME", "--init-gain G",
        "--output FILE", "(default: results/stall.csv)",      "--resume",       "--help"};
    const captured *c = run_well("help stall");
    for (int i = 0; i < LENGTH(PARTS); i++) assert_says(c->out, PARTS[i]);
    (void)run_well("stall --help");
    (void)run_well("--help");
    assert_starts(run_well("--version")->out, "sqrtdk ");
}
END_TEST

/* ---- Scripts --------------------------------------------------------------------------------- */

/* With CDPATH `cd` prints and may go to another project, whose setup root would then run. */
START_TEST(no_script_follows_cdpath) {
    ck_assert_int_eq(shell("for f in scripts/* .ci/run .ci/slow; do [ -f \"$f\" ] || continue; "
                           "awk 'NR == 1 && !/^#!.*sh$/ { exit } /^unset CDPATH$/ { exit } "
                           "!/^ *#/ && /(^|[ (;])cd / { exit 1 }' \"$f\" || "
                           "{ echo \"$f: cd without unset CDPATH\"; exit 1; }; done"),
                     0);
    /* elsewhere lies another scripts folder */
    ck_assert_int_eq(shell("mkdir -p " SCRATCH "elsewhere/scripts/figures && CDPATH=\"$PWD/" SCRATCH
                           "elsewhere\" scripts/graph >" SCRATCH "graph.txt"),
                     0);
}
END_TEST

START_TEST(a_compiler_with_options_is_no_missing_compiler) {
    (void)shell("mkdir -p " SCRATCH "tools && ln -sf /bin/true " SCRATCH
                "tools/gnuplot && ln -sf /bin/false " SCRATCH "tools/apt-get");
    ck_assert_int_eq(shell("PATH=\"$PWD/" SCRATCH
                           "tools:$PATH\" CC='cc -O1' scripts/setup reproduce "
                           ">" SCRATCH "setup.txt 2>&1"),
                     0);
    char *said = read_whole(SCRATCH "setup.txt");
    ck_assert_str_eq(said, "");
    free(said);
}
END_TEST

/* An apt that finds the packages at odds with one another. */
START_TEST(setup_says_why_apt_could_not) {
    write_text(SCRATCH "apt-get", "#!/bin/sh\ncase $1 in update) exit 0 ;; esac\n"
                                  "echo 'The following packages have unmet dependencies:'\n"
                                  "echo ' gcc : Depends: gcc-12 but it is not installable'\n"
                                  "echo 'E: Unable to correct problems'\nexit 100\n");
    (void)shell("mkdir -p " SCRATCH "apt && mv " SCRATCH "apt-get " SCRATCH
                "apt/ && chmod +x " SCRATCH
                "apt/apt-get && for t in id sudo; do printf '#!/bin/sh\necho 0\n' >" SCRATCH
                "apt/$t; chmod +x " SCRATCH "apt/$t; done");
    ck_assert_int_eq(shell("PATH=\"$PWD/" SCRATCH
                           "apt:$PATH\" CC=no-such-cc scripts/setup reproduce "
                           ">/dev/null 2>" SCRATCH "setup.txt"),
                     1);
    char *said = read_whole(SCRATCH "setup.txt");
    assert_says(said, "gcc : Depends: gcc-12 but it is not installable");
    assert_says(said, "E: Unable to correct problems");
    ck_assert_ptr_null(strstr(said, "network"));
    free(said);
}
END_TEST

START_TEST(setup_of_the_page_misses_headers_that_are_not_there) {
    (void)shell("mkdir -p " SCRATCH "wasm && cd " SCRATCH
                "wasm && for t in clang-19 wasm-ld-19 node chromium; do ln -sf /bin/true $t; done; "
                "ln -sf /bin/false apt-get; printf '#!/bin/sh\necho 0\n' >id; chmod +x id");
    ck_assert_int_eq(
        shell("PATH=\"$PWD/" SCRATCH
              "wasm:$PATH\" WASM_HEADERS=/nowhere scripts/setup page >/dev/null 2>" SCRATCH
              "setup.txt"),
        1);
    char *said = read_whole(SCRATCH "setup.txt");
    assert_says(said, "missing: wasi; apt could not install them");
    free(said);
}
END_TEST

START_TEST(another_make_is_told_that_it_takes_gnu_make) {
    if (shell("command -v bmake >/dev/null 2>&1") != 0) return;
    /* The options in MAKEFLAGS, if make runs these tests, are GNU make's. */
    ck_assert_int_ne(shell("unset MAKEFLAGS; bmake -n >" SCRATCH "bmake.txt 2>&1"), 0);
    char *said = read_whole(SCRATCH "bmake.txt");
    assert_one_line(said, "this Makefile is for GNU make");
    free(said);
}
END_TEST

START_TEST(a_run_whose_name_begins_with_a_dollar_is_drawn) {
    if (!have_gnuplot()) return;
    run_quietly("", SMALL "--steps 40", "dollar");
    (void)shell("rm -rf " SCRATCH "dollar && mkdir " SCRATCH "dollar && for f in " SCRATCH
                "dollar*.*; do cp \"$f\" \"" SCRATCH "dollar/\\$${f##*/}\"; done");
    ck_assert_int_eq(shell("plots=$PWD/scripts/plots && cd " SCRATCH
                           "dollar && \"$plots\" '$dollar' '$to' >drawn.txt && "
                           "test -s '$to/$dollar_verdict.svg'"),
                     0);
}
END_TEST

Suite *program_suite(void) {
    const TTest *tests[] = {no_script_follows_cdpath,
                            a_compiler_with_options_is_no_missing_compiler,
                            setup_says_why_apt_could_not,
                            setup_of_the_page_misses_headers_that_are_not_there,
                            another_make_is_told_that_it_takes_gnu_make,
                            a_run_whose_name_begins_with_a_dollar_is_drawn,
                            same_bytes_for_1_2_and_5_threads,
                            same_bytes_under_a_locale_with_a_decimal_comma,
                            a_pair_starts_from_the_same_numbers_as_each_scale_alone,
                            the_log_is_nested_as_documented,
                            dash_writes_the_log_to_standard_output_and_nothing_else,
                            ctrl_c_while_a_slow_reader_reads_cuts_nothing,
                            ctrl_c_keeps_complete_runs_and_resume_ends_with_the_same_bytes,
                            what_is_resumed_from_nothing_and_folders_that_are_made_are_said,
                            a_partial_file_cut_off_in_a_line_is_resumed_too,
                            resume_refuses_a_partial_file_of_other_settings,
                            a_damaged_run_is_not_resumed,
                            a_new_run_keeps_what_an_interrupted_one_left,
                            an_interruption_without_a_complete_run_is_nothing_to_keep,
                            a_run_that_could_not_start_leaves_no_partial_file,
                            a_run_that_is_interrupted_while_it_measures_says_so,
                            resume_refuses_another_results_version,
                            a_second_run_to_the_same_output_is_refused,
                            a_symbolic_link_stays_and_its_target_is_written,
                            closed_standard_streams_do_not_reach_a_result,
                            an_interrupted_run_leaves_the_earlier_result_alone,
                            two_widths_of_the_default_run_agree_with_the_committed_results,
                            a_runs_ratios_are_medians_of_20_steps_at_its_end_and_around_its_middle,
                            twenty_steps_stall_nobody_with_the_scale,
                            settings_that_are_not_default_stand_beside_every_run,
                            no_stall_is_said_as_plainly,
                            wrong_usage_is_one_line_that_names_it_and_exit_2,
                            what_cannot_be_written_is_exit_1_with_the_systems_reason,
                            a_full_disk_is_exit_1_with_the_systems_reason,
                            help_lists_every_option_with_its_default,
                            a_terminal_gets_no_escape_sequences,
                            nothing_for_people_is_wider_than_80_columns,
                            a_narrow_terminal_gets_narrow_sentences,
                            the_examples_of_every_help_page_run,
                            the_name_alone_shows_a_short_help};
    return suite_of("program", tests, LENGTH(tests), 300);
}
