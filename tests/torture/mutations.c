/* mutations.c: files that the program reads, damaged at random: arrays of inspect, trace and
 * gradcheck, the partial files of --resume, settings, and logs of report. No damage crashes (the
 * program is the sanitizers' build), all is said in a line, and a damaged partial file is refused
 * or changes nothing. A case is TARGET/NUMBER, of its random stream.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"

#define SIZES " --batch 2 --tokens 3 --d-model 3 --d-v 2 --threads 2 --quiet --output x.csv"
#define STALL "stall --d-k 2..5 --scale none,sqrt,cosine --seed 0,1 --steps 40" SIZES
#define MAP                                                                                        \
    "map --d-k 2,8 --sigma0 1..4 --kappa 1..8 --optimizer sgd,adam --curves 5 --steps 40" SIZES
#define HEADS " --q q.npy --k k.npy --v v.npy --threads 1 --quiet --output x.csv"

/* What is damaged, and who reads it. */
static const struct {
    const char *name, *file, *from; /* from: of the source tree, or NULL: it is made */
    const char *line;
    bool resumes;
} TARGETS[] = {
    {"npy", "q.npy", NULL, "inspect --causal" HEADS, false},
    {"npy-v", "v.npy", NULL, "inspect --precision --heads 0" HEADS, false},
    {"trace", "k.npy", NULL, "trace --q q.npy --k k.npy --v v.npy", false},
    {"dq", "dq.npy", NULL,
     "gradcheck --causal --do do.npy --dq dq.npy --dk dk.npy --dv dv.npy" HEADS, false},
    {"half", "h.npy", "tests/golden/npy/f2_be_f_3d.npy", "trace --q h.npy --k h.npy --v h.npy",
     false},
    {"version3", "h3.npy", "tests/golden/npy/version3.npy",
     "trace --q h3.npy --k h3.npy --v h3.npy", false},
    {"mask", "m.npy", "tests/golden/npy/mask_b1.npy",
     "inspect --allowed m.npy --q small.csv --k four.csv --quiet --output x.csv", false},
    {"additive", "m.csv", NULL,
     "inspect --mask-additive m.csv --q small.csv --k small.csv --quiet --output x.csv", false},
    {"csv", "small.csv", NULL,
     "inspect --q small.csv --k small.csv --v small.csv --quiet --output x.csv", false},
    {"csv-trace", "small.csv", NULL, "trace --q small.csv --k small.csv --v small.csv", false},
    {"stall-partial", "x.csv.partial", NULL, STALL " --resume", true},
    {"map-partial", "x.csv.partial", NULL, MAP " --resume", true},
    {"log", "log.csv", NULL, "report --page page.html log.csv", false},
    {"runs", "log_runs.csv", NULL, "report --page page.html log.csv", false},
    {"meta", "log.meta", NULL, "report --page page.html log.csv", false},
    {"page", "page.html", NULL, "report --page page.html log.csv", false},
    {"earlier", "log.meta", NULL,
     "saturation --d-k 2 --keys 3 --rows 9 --threads 1 --quiet --output log.csv", false},
};
enum { TARGET_COUNT = sizeof TARGETS / sizeof *TARGETS };

/* ---- Files that are whole -------------------------------------------------------------------- */

static outcome run_line(const torture *t, const char *line, const char *folder_name) {
    char text[TEXT_BYTES], *words[WORDS_MOST];
    (void)snprintf(text, sizeof text, "%s", line);
    words_of(t, text, words);
    return run(t, words, folder_name, 120);
}

static void must_run(const torture *t, const char *line, const char *folder_name) {
    outcome o = run_line(t, line, folder_name);
    if (o.code != 0) {
        (void)fprintf(stderr, "torture: %s: exit %d: %s\n", line, o.code, o.err);
        exit(2);
    }
    outcome_free(&o);
}

static int complete_runs(const torture *t, const char *folder_name) {
    size_t bytes;
    int count = 0;
    char *text = file_read(t, folder_name, "x.csv.partial", &bytes);
    for (const char *at = text; at && (at = strstr(at, "# complete,")); at++) count++;
    free(text);
    return count;
}

/* A sweep that ended by SIGKILL with some runs done, and beside it what it would have written. */
static void make_partial(const torture *t, const char *line, const char *name) {
    char whole[64], text[TEXT_BYTES], *words[WORDS_MOST];
    const struct timespec pause = {0, 1000000};
    (void)snprintf(whole, sizeof whole, "%s.whole", name);
    folder_make(t, whole, NULL);
    must_run(t, line, whole);
    for (int tries = 0; tries < 50; tries++) {
        folder_make(t, name, NULL);
        (void)snprintf(text, sizeof text, "%s", line);
        words_of(t, text, words);
        const pid_t process = run_start(t, words, name, 120, NULL, NULL);
        for (int i = 0; i < 10000 && complete_runs(t, name) < 3; i++) (void)nanosleep(&pause, NULL);
        (void)kill(process, SIGKILL);
        outcome o = run_end(t, process);
        const bool killed = o.signal == SIGKILL && complete_runs(t, name) >= 3;
        outcome_free(&o);
        if (killed) return;
    }
    (void)fprintf(stderr, "torture: no partial file of: %s\n", line);
    exit(2);
}

static void write_words(const torture *t, const char *file, const char *text) {
    file_write(t, "inputs", file, text, strlen(text));
}

static void make_inputs(const torture *t) {
    static const char *const ARRAYS[] = {"q", "k", "v", "do", "dq", "dk", "dv"};
    folder_make(t, "inputs", NULL);
    must_run(t, "stall --d-k 2,3 --steps 9 --seed 0,1" SIZES " --output log.csv", "inputs");
    write_words(t, "page.html",
                "<html>\n<script type=\"application/json\" id=\"run\">null</script>\n</html>\n");
    write_words(t, "small.csv", "0.5,-1.25e0,3\n1,2,-0.125\n1e-3,0,7\n");
    write_words(t, "four.csv", "1,0,0\n0,1,0\n0,0,1\n2,2,2\n");
    write_words(t, "m.csv", "0,-inf,-inf\n0,0,-1e9\n0,0,0\n");
    for (size_t i = 0; i < sizeof ARRAYS / sizeof *ARRAYS; i++) {
        char from[128], file[32];
        (void)snprintf(from, sizeof from, "tests/golden/gradients/%s.npy", ARRAYS[i]);
        (void)snprintf(file, sizeof file, "%s.npy", ARRAYS[i]);
        file_copy(t, from, "inputs", file);
    }
    for (int i = 0; i < TARGET_COUNT; i++)
        if (TARGETS[i].from) file_copy(t, TARGETS[i].from, "inputs", TARGETS[i].file);
}

/* Damage tells something only where what is whole is read. */
static void read_whole(const torture *t) {
    for (int i = 0; i < TARGET_COUNT; i++) {
        if (TARGETS[i].resumes) continue;
        folder_make(t, "case", "inputs");
        must_run(t, TARGETS[i].line, "case");
    }
}

static const char *source_of(int target) {
    if (!TARGETS[target].resumes) return "inputs";
    return TARGETS[target].name;
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Takes `bytes` out at a place and puts others in. */
static char *splice(const char *text, size_t *length, size_t at, size_t out, const char *in,
                    size_t in_bytes) {
    if (out > *length - at) out = *length - at;
    char *result = malloc(*length - out + in_bytes + 1);
    if (!result) exit(2);
    memcpy(result, text, at);
    memcpy(result + at, in, in_bytes);
    memcpy(result + at + in_bytes, text + at + out, *length - at - out);
    *length += in_bytes - out;
    result[*length] = '\0';
    return result;
}

static char *damage(torture *t, const char *text, size_t *length) {
    static const char *const WORDS[] = {
        "nan", "-inf", "1e999", "-1",  "99999999999999999999", ",", "\n", "\"", "#", "", "0x", "(",
        "),",  "'",    "{",     "\r\n"};
    char random[8];
    /* heads of files decide most */
    const size_t reach = torture_below(t, 2) ? *length : *length < 128 ? *length : 128;
    const size_t at = (size_t)torture_below(t, reach + 1);
    const size_t some = 1 + (size_t)torture_below(t, 8);
    const char *word = WORDS[torture_below(t, sizeof WORDS / sizeof *WORDS)];
    for (size_t i = 0; i < sizeof random; i++) random[i] = (char)torture_below(t, 256);
    switch (torture_below(t, 6)) {
    case 0:
        return splice(text, length, at, *length, "", 0); /* cut off */
    case 1:
        return splice(text, length, at, 0, random, some); /* more bytes */
    case 2:
        return splice(text, length, at, some, "", 0); /* fewer */
    case 3:
        return splice(text, length, at, some, word, strlen(word)); /* another word */
    case 4:
        return splice(text, length, at, 0, text + at, (*length - at) / 2); /* twice */
    default:
        break;
    }
    char *result = splice(text, length, 0, 0, "", 0);
    for (size_t i = 0; i < some && at < *length; i++)
        result[at + (size_t)torture_below(t, *length - at)] ^= (char)(1 << torture_below(t, 8));
    return result;
}

/* ---- Checking -------------------------------------------------------------------------------- */

static const char *resumed_wrong(const torture *t, int target, const outcome *o,
                                 const char *damaged, size_t length) {
    char whole[64];
    folder expected, after;
    (void)snprintf(whole, sizeof whole, "%s.whole", TARGETS[target].name);
    folder_read(t, whole, &expected);
    folder_read(t, "case", &after);
    if (o->code == 0)
        return folder_differs(&expected, &after, NULL) ? "resumed, but to other files" : NULL;
    size_t bytes;
    char *now = file_read(t, "case", "x.csv.partial", &bytes);
    const bool same = now && bytes == length && memcmp(now, damaged, length) == 0;
    free(now);
    if (!same) return "refused, but the partial file is another one now";
    return after.count == 1 ? NULL : "refused, but something is written";
}

static const char *check(torture *t, int target) {
    static char said[4 * TEXT_BYTES];
    size_t length;
    char *whole = file_read(t, source_of(target), TARGETS[target].file, &length);
    if (!whole) return "no such file";
    char *damaged = damage(t, whole, &length);
    folder_make(t, "case", TARGETS[target].resumes ? NULL : source_of(target));
    file_write(t, "case", TARGETS[target].file, damaged, length);
    outcome o = run_line(t, TARGETS[target].line, "case");
    const char *bad = outcome_wrong(&o);
    if (!bad && TARGETS[target].resumes) bad = resumed_wrong(t, target, &o, damaged, length);
    if (!bad) {
        folder after;
        folder_read(t, "case", &after);
        bad = TARGETS[target].resumes ? NULL : folder_left_over(&after);
    }
    if (bad) (void)snprintf(said, sizeof said, "%s", bad);
    if (t->only)
        printf("sqrtdk %s\nexit %d, signal %d\n%s%s", TARGETS[target].line, o.code, o.signal, o.out,
               o.err);
    outcome_free(&o);
    free(damaged);
    free(whole);
    return bad ? said : NULL;
}

int main(int argc, char **argv) {
    torture t;
    torture_start(&t, "mutations", "sqrtdk", argc, argv);
    (void)setenv("ASAN_OPTIONS", "allocator_may_return_null=1:exitcode=99", 1);
    (void)setenv("UBSAN_OPTIONS", "halt_on_error=1:exitcode=99", 1);
    make_inputs(&t);
    read_whole(&t);
    for (int i = 0; i < TARGET_COUNT; i++)
        if (TARGETS[i].resumes) {
            char line[TEXT_BYTES];
            (void)snprintf(line, sizeof line, "%.*s",
                           (int)(strlen(TARGETS[i].line) - strlen(" --resume")), TARGETS[i].line);
            make_partial(&t, line, TARGETS[i].name);
        }
    for (uint64_t i = 0; torture_goes_on(&t); i++) {
        const char *slash = t.only ? strrchr(t.only, '/') : NULL;
        char name[64];
        if (slash) i = strtoull(slash + 1, NULL, 10);
        t.random = t.seed + (i << 32);
        const int target = (int)torture_below(&t, TARGET_COUNT);
        (void)snprintf(name, sizeof name, "%s/%llu", TARGETS[target].name, (unsigned long long)i);
        torture_count(&t, name, check(&t, target));
        if (slash) break;
    }
    return torture_end(&t, 0);
}
