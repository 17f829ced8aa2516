/* kills.c: stall and map are ended at random moments by SIGKILL, SIGTERM or SIGINT, with several
 * threads, and gone on with by --resume until they are done. Their files have then the bytes of a
 * run that nothing interrupted. A case is the number of its random stream.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define SIZES " --batch 4 --tokens 5 --d-model 6 --d-v 3 --output x.csv"

static const char *const LINES[] = {
    "stall --d-k 3,8 --lr 1,0.5 --seed 0..3 --steps 60" SIZES,
    "stall --d-k 2..5 --scale all --optimizer sgd,adam --steps 30 --seed 0,1" SIZES,
    "map --d-k 3,8 --sigma0 1,4 --kappa 1..64 --optimizer sgd,adam --steps 60 --curves 7" SIZES,
    "map --d-k 16,32 --sigma0 0.5..8 --kappa 1..256 --chaos --seed 0,1 --steps 150" SIZES,
};
enum { LINE_COUNT = sizeof LINES / sizeof *LINES, TRIES_MOST = 200 };

static double seconds_of[LINE_COUNT]; /* how long each takes on one thread */

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void reference_name(int line, char name[32]) {
    (void)snprintf(name, 32, "whole.%d", line);
}

static void make_reference(const torture *t, int line) {
    char text[TEXT_BYTES], name[32], *words[WORDS_MOST];
    reference_name(line, name);
    folder_make(t, name, NULL);
    (void)snprintf(text, sizeof text, "%s --threads 1 --quiet", LINES[line]);
    words_of(t, text, words);
    const double before = now();
    outcome o = run(t, words, name, 120);
    seconds_of[line] = now() - before;
    if (o.code != 0) {
        (void)fprintf(stderr, "torture: %s: exit %d: %s", LINES[line], o.code, o.err);
        exit(2);
    }
    outcome_free(&o);
}

static void wait_for(double seconds) {
    const struct timespec pause = {(time_t)seconds,
                                   (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&pause, NULL);
}

/* Starts it, ends it after a random time, and says what is wrong with how it went; *done if it had
 * ended by itself. */
static const char *interrupt(torture *t, int line, bool resume, bool *done) {
    static const int SIGNALS[] = {SIGKILL, SIGTERM, SIGINT};
    static char wrong[2 * TEXT_BYTES];
    char text[TEXT_BYTES], *words[WORDS_MOST];
    (void)snprintf(text, sizeof text, "%s --quiet --threads %d%s", LINES[line],
                   1 + (int)torture_below(t, 4), resume ? " --resume" : "");
    words_of(t, text, words);
    const int number = SIGNALS[torture_below(t, 3)];
    const double share = (double)torture_below(t, 1000) / 999;
    const pid_t process = run_start(t, words, "case", 120, NULL, NULL);
    wait_for(share * seconds_of[line]);
    (void)kill(process, number);
    outcome o = run_end(t, process);
    const bool ended = o.signal == number || o.code == 128 + number;
    const char *line_end = strchr(o.err, '\n');
    *done = o.code == 0;
    wrong[0] = '\0';
    if (o.code != 0 && !ended)
        (void)snprintf(wrong, sizeof wrong, "exit %d, signal %d: %.1000s", o.code, o.signal, o.err);
    else if (o.code > 0 && strncmp(o.err, "sqrtdk: ", 8) != 0)
        (void)snprintf(wrong, sizeof wrong, "ended without a line");
    else if (o.code > 0 && line_end && line_end[1] && !resume)
        (void)snprintf(wrong, sizeof wrong, "ended with more than a line: %.1000s", o.err);
    outcome_free(&o);
    return wrong[0] ? wrong : NULL;
}

static const char *interrupt_until_done(torture *t, int line) {
    static char wrong[TEXT_BYTES];
    char name[32];
    folder whole, after;
    bool done = false;
    folder_make(t, "case", NULL);
    for (int i = 0; !done; i++) {
        if (i == TRIES_MOST) return "not done after many interruptions";
        const char *bad = interrupt(t, line, i > 0, &done);
        if (bad) return bad;
    }
    reference_name(line, name);
    folder_read(t, name, &whole);
    folder_read(t, "case", &after);
    const char *other = folder_differs(&whole, &after, NULL);
    if (!other) return NULL;
    (void)snprintf(wrong, sizeof wrong, "%s differs from that of a run without interruption",
                   other);
    return wrong;
}

int main(int argc, char **argv) {
    torture t;
    torture_start(&t, "kills", "sqrtdk", argc, argv);
    for (int i = 0; i < LINE_COUNT; i++) make_reference(&t, i);
    /* one case alone is tried until the time is up: where in its work a signal comes varies */
    for (uint64_t i = 0; torture_goes_on(&t); i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%llu", (unsigned long long)i);
        if (t.only) i = strtoull(t.only, NULL, 10);
        t.random = t.seed + (i << 32);
        const char *wrong = interrupt_until_done(&t, (int)torture_below(&t, LINE_COUNT));
        torture_count(&t, t.only ? t.only : name, wrong);
    }
    return torture_end(&t, 0);
}
