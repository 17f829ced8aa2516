/* test_output.c: files that are whole or not there. */
#include "common/output.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/stop.h"
#include "suites.h"
#include "support.h"

START_TEST(an_earlier_file_stays_until_commit) {
    const char *path = SCRATCH "made/up/folder/whole.txt";
    output o;
    ck_assert(output_open(&o, path));
    (void)fputs("first", o.stream);
    ck_assert(output_close(&o) && output_commit(&o));
    output_discard(&o);
    ck_assert(output_open(&o, path));
    (void)fputs("second", o.stream);
    char *now = read_whole(path);
    ck_assert_str_eq(now, "first");
    free(now);
    ck_assert(output_close(&o) && output_commit(&o));
    output_discard(&o);
    now = read_whole(path);
    ck_assert_str_eq(now, "second");
    free(now);
}
END_TEST

START_TEST(a_failed_write_leaves_the_earlier_file_and_no_other) {
    const char *folder = SCRATCH "failing", *path = SCRATCH "failing/a.txt";
    char long_text[200];
    struct rlimit before;
    output o;
    (void)shell("rm -rf " SCRATCH "failing && mkdir " SCRATCH "failing");
    write_text(path, "first");
    memset(long_text, 'x', sizeof long_text);
    ck_assert(getrlimit(RLIMIT_FSIZE, &before) == 0);
    (void)signal(SIGXFSZ, SIG_IGN); /* so that a write fails as it does on a full disk */
    (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){64, before.rlim_max});
    ck_assert(output_open(&o, path));
    (void)fwrite(long_text, 1, sizeof long_text, o.stream);
    bool closed = output_close(&o);
    (void)setrlimit(RLIMIT_FSIZE, &before);
    (void)signal(SIGXFSZ, SIG_DFL);
    ck_assert(!closed);
    char *now = read_whole(path);
    ck_assert_str_eq(now, "first");
    free(now);
    ck_assert(unlink(path) == 0 && rmdir(folder) == 0);
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

static bool ignores(int number) {
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

START_TEST(a_signal_that_was_ignored_at_the_start_stays_so) {
    (void)signal(SIGINT, SIG_IGN); /* as nohup and `trap '' INT` do */
    stop_catch_signals();
    stop_spare_writes();
    ck_assert(ignores(SIGINT) && !ignores(SIGTERM));
    (void)raise(SIGTERM); /* the first one, and from then on the second would end it */
    ck_assert_int_eq(stop_signal, SIGTERM);
    ck_assert(ignores(SIGINT));
    stop_signal = 0;
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
}
END_TEST

/* A full disk, as it were, while it writes. */
static void write_beyond_a_limit(FILE *to) {
    struct rlimit before;
    ck_assert(getrlimit(RLIMIT_FSIZE, &before) == 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){64, before.rlim_max});
    for (int i = 0; i < 200; i++) (void)fputc('x', to);
    (void)setrlimit(RLIMIT_FSIZE, &before);
    (void)signal(SIGXFSZ, SIG_DFL);
}

/* Whatever comes between a write that fails and the end may set errno. */
START_TEST(a_write_that_failed_earlier_is_not_given_another_reason) {
    FILE *passing = fopen(SCRATCH "passing.txt", "w"), *lasting = fopen("/dev/null", "r");
    ck_assert(passing && lasting && !output_flush(passing));
    (void)setvbuf(passing, NULL, _IONBF, 0);
    write_beyond_a_limit(passing);
    errno = ERANGE;
    ck_assert_str_eq(output_flush(passing), "an earlier write failed");
    ck_assert_int_eq(fputc('x', lasting), EOF);
    errno = ERANGE;
    ck_assert_str_eq(output_flush(lasting), strerror(EBADF));
    (void)fclose(passing);
    (void)fclose(lasting);
}
END_TEST

Suite *output_suite(void) {
    const TTest *tests[] = {a_signal_that_was_ignored_at_the_start_stays_so,
                            a_write_that_failed_earlier_is_not_given_another_reason,
                            an_earlier_file_stays_until_commit,
                            a_failed_write_leaves_the_earlier_file_and_no_other,
                            a_discarded_file_leaves_nothing,
                            neighbours_drop_the_csv_ending_only};
    return suite_of("output", tests, LENGTH(tests), 60);
}
