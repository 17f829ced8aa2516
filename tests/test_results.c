/* test_results.c: what becomes of files: a set appears whole or not at all, nothing that was there
 * is lost, and nothing temporary stays. The same for every command, so each is asked of one.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/output.h"
#include "suites.h"
#include "support.h"

/* A folder of its own for each test. */
#define FOLDER SCRATCH "results/"

#define RUN "stall --d-k 3 --seed 0 --steps 4 --batch 2 --tokens 3 --d-model 4 --d-v 2 --quiet "
#define HEADS                                                                                      \
    "inspect --q " GOLDEN "real/layer0_q.npy --k " GOLDEN "real/layer0_k.npy --causal --quiet "

static void empty_folder(void) {
    ck_assert_int_eq(shell("rm -rf " FOLDER " && mkdir -p " FOLDER), 0);
}

/* Fails unless these and no others are the folder's files. */
static void assert_files(const char *names) {
    char command[512];
    (void)snprintf(command, sizeof command, "test \"$(ls -A " FOLDER " | tr '\\n' ' ')\" = '%s '",
                   names);
    if (shell(command) != 0) (void)shell("ls -A " FOLDER " >&2");
    ck_assert_msg(shell(command) == 0, "not the files: %s", names);
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* ---- Earlier results ------------------------------------------------------------------------- */

START_TEST(results_of_equal_settings_are_replaced) {
    empty_folder();
    for (int i = 0; i < 2; i++) {
        const captured *c = run_well(RUN "--output " FOLDER "a.csv");
        ck_assert_str_eq(c->err, "");
    }
    assert_files("a.csv a.meta a_bands.csv a_runs.csv a_summary.csv");
}
END_TEST

START_TEST(results_of_other_settings_are_kept_under_the_next_number) {
    empty_folder();
    (void)run_well(RUN "--output " FOLDER "a.csv");
    char *first = read_whole(FOLDER "a.csv");
    for (int seed = 1; seed <= 2; seed++) {
        char kept[96];
        const captured *c = run_well(RUN "--lr 0.%d --output " FOLDER "a.csv", seed);
        (void)snprintf(kept, sizeof kept, "kept as " FOLDER "a.%d.csv", seed);
        assert_one_line(c->err, kept);
    }
    assert_files("a.1.csv a.1.meta a.1_bands.csv a.1_runs.csv a.1_summary.csv a.2.csv a.2.meta "
                 "a.2_bands.csv a.2_runs.csv a.2_summary.csv a.csv a.meta a_bands.csv a_runs.csv "
                 "a_summary.csv");
    char *kept = read_whole(FOLDER "a.1.csv");
    ck_assert_str_eq(kept, first);
    free(first);
    free(kept);
}
END_TEST

START_TEST(another_commands_results_are_kept_whole) {
    empty_folder();
    (void)run_well(HEADS "--heads 1 --output " FOLDER "a.csv");
    (void)run_well(RUN "--output " FOLDER "a.csv");
    assert_files(
        "a.1.csv a.1.meta a.1_weights.csv a.csv a.meta a_bands.csv a_runs.csv a_summary.csv");
}
END_TEST

START_TEST(a_file_without_settings_is_kept) {
    empty_folder();
    write_text(FOLDER "a.csv", "mine");
    (void)run_well(HEADS "--output " FOLDER "a.csv");
    char *kept = read_whole(FOLDER "a.1.csv");
    ck_assert_str_eq(kept, "mine");
    free(kept);
}
END_TEST

START_TEST(a_neighbour_without_a_file_is_kept) {
    empty_folder();
    write_text(FOLDER "a_summary.csv", "mine");
    (void)run_well(RUN "--output " FOLDER "a.csv");
    char *kept = read_whole(FOLDER "a.1_summary.csv");
    ck_assert_str_eq(kept, "mine");
    free(kept);
}
END_TEST

START_TEST(a_set_whose_file_has_the_ending_gives_way_whole_to_one_without) {
    empty_folder();
    (void)run_well(RUN "--output " FOLDER "a.csv");
    (void)run_well(RUN "--output " FOLDER "a");
    assert_files("a a.1.csv a.1.meta a.1_bands.csv a.1_runs.csv a.1_summary.csv a.meta a_bands.csv "
                 "a_runs.csv a_summary.csv");
}
END_TEST

START_TEST(behind_a_symbolic_link_earlier_results_are_kept_too) {
    struct stat info;
    empty_folder();
    write_text(FOLDER "target", "mine");
    ck_assert(symlink("target", FOLDER "a.csv") == 0);
    (void)run_well(HEADS "--output " FOLDER "a.csv");
    ck_assert(lstat(FOLDER "a.csv", &info) == 0 && S_ISLNK(info.st_mode));
    char *kept = read_whole(FOLDER "a.1.csv");
    ck_assert_str_eq(kept, "mine");
    free(kept);
}
END_TEST

START_TEST(an_unfinished_log_that_is_something_else_is_kept) {
    empty_folder();
    write_text(FOLDER "a.csv.partial", "mine\n");
    (void)run_well(RUN "--output " FOLDER "a.csv");
    char *kept = read_whole(FOLDER "a.1.csv.partial");
    ck_assert_str_eq(kept, "mine\n");
    free(kept);
}
END_TEST

START_TEST(of_saved_gradients_all_appear_or_none) {
    empty_folder();
    ck_assert(mkdir(FOLDER "g", 0777) == 0 && mkdir(FOLDER "g/dV.npy", 0777) == 0);
    assert_refused(1, "dV.npy",
                   HEADS "--v " GOLDEN "real/layer0_v.npy --output - --save-gradients " FOLDER "g");
    ck_assert_int_eq(shell("test \"$(ls -A " FOLDER "g)\" = dV.npy"), 0);
}
END_TEST

START_TEST(standard_outputs_device_is_appended_to) {
    empty_folder();
    ck_assert_int_eq(shell("{ echo first; " TEST_PROGRAM " " HEADS
                           "--output /dev/stdout; } >" FOLDER "all && test \"$(head -n 1 " FOLDER
                           "all)\" = first && test $(wc -l <" FOLDER "all) -gt 2"),
                     0);
    assert_files("all");
}
END_TEST

START_TEST(force_replaces_without_keeping_and_leaves_no_stale_neighbour) {
    empty_folder();
    (void)run_well(HEADS "--heads 1 --output " FOLDER "a.csv");
    const captured *c = run_well(HEADS "--scale none --force --output " FOLDER "a.csv");
    ck_assert_str_eq(c->err, "");
    assert_files("a.csv a.meta");
}
END_TEST

START_TEST(a_check_of_a_fault_leaves_the_default_checks_figure_to_its_own_set) {
    empty_folder();
    (void)run_well("gradcheck --op add --quiet --output " FOLDER "g.csv");
    (void)run_program("", "gradcheck --fault swapped --quiet --output " FOLDER "g.csv");
    assert_files("g.1.csv g.1.meta g.1_steps.csv g.csv g.meta g_steps.csv");
}
END_TEST

START_TEST(version_commit_and_machine_are_recorded_but_not_compared) {
    empty_folder();
    (void)run_well(RUN "--output " FOLDER "a.csv");
    ck_assert_int_eq(shell("sed 's/^version = .*/version = 0/; s/^commit = .*/commit = 0/; "
                           "s/^kernel = .*/kernel = abacus/' " FOLDER "a.meta >" FOLDER
                           "b && mv " FOLDER "b " FOLDER "a.meta"),
                     0);
    const captured *c = run_well(RUN "--output " FOLDER "a.csv");
    ck_assert_str_eq(c->err, "");
    char *meta = read_whole(FOLDER "a.meta");
    assert_says(meta, "\n\nresults_version = ");
    assert_says(meta, "\ncommit = ");
    ck_assert(strstr(meta, "abacus") == NULL);
    free(meta);
}
END_TEST

/* ---- Whole or not at all --------------------------------------------------------------------- */

START_TEST(if_one_cannot_take_its_place_the_others_are_put_back) {
    output o[3];
    empty_folder();
    write_text(FOLDER "a", "before");
    ck_assert(output_open(&o[0], FOLDER "a") && output_open(&o[1], FOLDER "b") &&
              output_open(&o[2], FOLDER "c"));
    for (int i = 0; i < 3; i++) {
        (void)fputs("after", o[i].stream);
        ck_assert(output_close(&o[i]));
    }
    ck_assert(mkdir(FOLDER "c", 0777) == 0); /* no file can be renamed over a folder */
    ck_assert(!output_commit_all(o, 3));
    for (int i = 0; i < 3; i++) output_discard(&o[i]);
    char *now = read_whole(FOLDER "a");
    ck_assert_str_eq(now, "before");
    free(now);
    assert_files("a c");
}
END_TEST

START_TEST(nothing_takes_its_place_unless_the_work_was_done) {
    empty_folder();
    write_text(FOLDER "g.csv", "good");
    assert_refused(1, "nosuch.npy: No such file",
                   "gradcheck --q " FOLDER "nosuch.npy --k " GOLDEN "gradients/k.npy --v " GOLDEN
                   "gradients/v.npy --do " GOLDEN "gradients/do.npy --dq " GOLDEN
                   "gradients/dq.npy --output " FOLDER "g.csv");
    char *now = read_whole(FOLDER "g.csv");
    ck_assert_str_eq(now, "good");
    free(now);
    assert_files("g.csv");
}
END_TEST

START_TEST(an_output_may_not_be_one_of_the_inputs) {
    empty_folder();
    write_worked_example();
    ck_assert_int_eq(shell("cp " SCRATCH "wq.csv " FOLDER "q.csv && ln " FOLDER "q.csv " FOLDER
                           "same.csv && cp " SCRATCH "wk.csv " FOLDER "w.npy"),
                     0);
    assert_refused(1, "it is one of the files that were read",
                   "inspect --q " FOLDER "q.csv --k " SCRATCH "wk.csv --quiet --output " FOLDER
                   "same.csv");
    assert_refused(1, "it is one of the files that were read",
                   "inspect --q " FOLDER "q.csv --k " FOLDER "w.npy --quiet --output - "
                   "--save-weights " FOLDER "w.npy");
    assert_same_file(FOLDER "q.csv", SCRATCH "wq.csv");
    assert_same_file(FOLDER "w.npy", SCRATCH "wk.csv");
}
END_TEST

/* ---- Modes and links ------------------------------------------------------------------------- */

START_TEST(an_existing_files_mode_is_kept) {
    struct stat info;
    empty_folder();
    (void)run_well(RUN "--output " FOLDER "a.csv");
    ck_assert(chmod(FOLDER "a.csv", 0600) == 0);
    (void)run_well(RUN "--output " FOLDER "a.csv");
    ck_assert(stat(FOLDER "a.csv", &info) == 0);
    ck_assert_int_eq(info.st_mode & 07777, 0600);
}
END_TEST

START_TEST(an_array_too_is_written_through_a_symbolic_link) {
    struct stat info;
    empty_folder();
    write_text(FOLDER "target", "");
    ck_assert(symlink("target", FOLDER "w.npy") == 0);
    (void)run_well(HEADS "--output - --save-weights " FOLDER "w.npy");
    ck_assert(lstat(FOLDER "w.npy", &info) == 0 && S_ISLNK(info.st_mode));
    array w = read_array(FOLDER "target");
    ck_assert_int_eq(w.ndim, 3);
    array_free(&w);
    assert_files("target w.npy");
}
END_TEST

/* ---- Temporary files ------------------------------------------------------------------------- */

/* Starts a check of a minute, waits for its temporary file and sends the signal; returns the
 * status. What nohup or a shell's & told this process to ignore, the check is not to. */
static int end_while_working(int number) {
    (void)fflush(NULL);
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        (void)freopen("/dev/null", "w", stderr);
        (void)signal(number, SIG_DFL);
        (void)execl(TEST_PROGRAM, TEST_PROGRAM, "gradcheck", "--d-k", "2048", "--quiet", "--output",
                    FOLDER "g.csv", (char *)NULL);
        _exit(99);
    }
    int status, waited = 0;
    while (shell("test -n \"$(ls -A " FOLDER ")\"") != 0 && waited++ < 1000)
        (void)nanosleep(&(struct timespec){0, 10000000}, NULL);
    (void)nanosleep(&(struct timespec){0, 50000000}, NULL);
    ck_assert(kill(child, number) == 0);
    ck_assert(waitpid(child, &status, 0) == child);
    return status;
}

START_TEST(signals_that_end_the_program_leave_no_temporary_file) {
    static const int NUMBERS[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (int i = 0; i < LENGTH(NUMBERS); i++) {
        empty_folder();
        int status = end_while_working(NUMBERS[i]);
        ck_assert(WIFSIGNALED(status));
        ck_assert_int_eq(WTERMSIG(status), NUMBERS[i]);
        ck_assert_msg(shell("test -z \"$(ls -A " FOLDER ")\"") == 0, "after signal %d", NUMBERS[i]);
    }
}
END_TEST

START_TEST(what_a_killed_run_left_is_swept_by_the_next) {
    empty_folder();
    (void)end_while_working(SIGKILL);
    ck_assert(shell("ls " FOLDER "g.csv.tmp-* >/dev/null") == 0);
    (void)run_well("gradcheck --op add --quiet --output " FOLDER "g.csv");
    assert_files("g.csv g.meta g_steps.csv");
}
END_TEST

START_TEST(a_temporary_name_is_made_exclusively) {
    output a, b;
    empty_folder();
    ck_assert(output_open(&a, FOLDER "x") && output_open(&b, FOLDER "x"));
    ck_assert_str_ne(a.temporary, b.temporary);
    output_discard(&a);
    output_discard(&b);
    ck_assert(!exists(FOLDER "x"));
}
END_TEST

START_TEST(a_line_end_and_an_escape_in_a_name_reach_neither_meta_nor_terminal) {
    static const char *const NAME = SCRATCH "results/q\n\033[31m.csv";
    (void)shell("mkdir -p " SCRATCH "results && rm -f " SCRATCH "results/odd*");
    write_text(NAME, "1,0\n");
    write_text(SCRATCH "results/k.csv", "1,0\n0,1\n");
    for (int again = 0; again < 2; again++) { /* the same settings: it reads back as written */
        const captured *c = run_well("inspect --q '%s' --k " SCRATCH
                                     "results/k.csv --output " SCRATCH "results/odd.csv",
                                     NAME);
        ck_assert_ptr_null(strchr(c->out, '\033'));
        assert_says(c->out, "results/q\\n\\x1b[31m.csv");
        ck_assert_str_eq(c->err, "");
    }
    char *meta = read_whole(SCRATCH "results/odd.meta");
    assert_says(meta, "results/q\\n\\x1b[31m.csv");
    ck_assert_ptr_null(strchr(meta, '\033'));
    for (char *line = strtok(meta, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_msg(strstr(line, " = ") != NULL, "no setting: %s", line);
    free(meta);
    assert_refused(1, "results/no\\n\\x1b", "inspect --q '" SCRATCH "results/no\n\033' --k x.csv");
}
END_TEST

Suite *results_suite(void) {
    const TTest *tests[] = {
        a_line_end_and_an_escape_in_a_name_reach_neither_meta_nor_terminal,

        results_of_equal_settings_are_replaced,
        results_of_other_settings_are_kept_under_the_next_number,
        another_commands_results_are_kept_whole,
        a_file_without_settings_is_kept,
        a_neighbour_without_a_file_is_kept,
        a_set_whose_file_has_the_ending_gives_way_whole_to_one_without,
        behind_a_symbolic_link_earlier_results_are_kept_too,
        an_unfinished_log_that_is_something_else_is_kept,
        of_saved_gradients_all_appear_or_none,
        standard_outputs_device_is_appended_to,
        force_replaces_without_keeping_and_leaves_no_stale_neighbour,
        a_check_of_a_fault_leaves_the_default_checks_figure_to_its_own_set,
        version_commit_and_machine_are_recorded_but_not_compared,
        if_one_cannot_take_its_place_the_others_are_put_back,
        nothing_takes_its_place_unless_the_work_was_done,
        an_output_may_not_be_one_of_the_inputs,
        an_existing_files_mode_is_kept,
        an_array_too_is_written_through_a_symbolic_link,
        signals_that_end_the_program_leave_no_temporary_file,
        what_a_killed_run_left_is_swept_by_the_next,
        a_temporary_name_is_made_exclusively,
    };
    return suite_of("results", tests, LENGTH(tests), 300);
}
