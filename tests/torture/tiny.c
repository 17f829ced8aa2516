#include "tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Commands -------------------------------------------------------------------------------- */

#define SMALL " --batch 2 --tokens 3 --d-model 3 --d-v 2 --threads 1 --output x.csv"
#define GIVEN " --q q.npy --k k.npy --v v.npy"

const tiny TINY[] = {
    {"stall", "stall --d-k 2,3 --steps 6 --seed 0" SMALL, " --seed 1", true},
    {"map", "map --d-k 2,8 --sigma0 1 --kappa 1,2 --steps 6 --chaos --curves 2" SMALL, " --seed 1",
     true},
    {"saturation", "saturation --d-k 2,3 --keys 3 --rows 12 --threads 1 --output x.csv",
     " --seed 1", true},
    {"gradcheck", "gradcheck --op matmul --batch 1 --tokens 2 --keys 2 --threads 1 --output x.csv",
     " --seed 1", false},
    {"foreign",
     "gradcheck --causal --do do.npy --dq dq.npy --dk dk.npy --dv dv.npy --threads 1 --output "
     "x.csv" GIVEN,
     " --rtol 0.5", false},
    {"trace", "trace --lesson soft-lookup --backward", NULL, false},
    {"traced", "trace --causal --heads 0" GIVEN, NULL, false},
    {"inspect",
     "inspect --causal --heads 0 --precision --save-weights x_w.npy --threads 1 --output "
     "x.csv" GIVEN,
     " --seed 1", false},
    {"precision", "precision --d-k 2 --seed 0 --format bfloat16 --output x.csv", " --seed 1",
     false},
    {"merge", "merge x.csv s.share", NULL, false},
    {"report", "report --page page.html log.csv", NULL, false},
    {"help", "help stall", NULL, false},
    {"commands", "--help", NULL, false},
};
const int TINY_COUNT = sizeof TINY / sizeof *TINY;

const char *state_name(state s) {
    static const char *const NAMES[STATES] = {"empty", "same", "other"};
    return NAMES[s];
}

static void run_line(const torture *t, const char *line, const char *more, const char *name) {
    char text[2 * TEXT_BYTES], *words[WORDS_MOST];
    (void)snprintf(text, sizeof text, "%s%s", line, more);
    words_of(t, text, words);
    outcome o = run(t, words, name, 60);
    if (o.code != 0) {
        (void)fprintf(stderr, "torture: %s %s: exit %d, signal %d: %s\n", line, more, o.code,
                      o.signal, o.err);
        exit(2);
    }
    outcome_free(&o);
}

/* The inputs of all small commands: files of gradients, and for report a run and a page. */
static void make_inputs(const torture *t) {
    static const char *const FILES[] = {"q", "k", "v", "do", "dq", "dk", "dv"};
    static const char PAGE[] =
        "<html>\n<script type=\"application/json\" id=\"run\">null</script>\n</html>\n";
    size_t bytes = 0;
    folder_make(t, "inputs", NULL);
    run_line(t, "stall --d-k 2 --steps 3 --seed 0" SMALL, " --output log.csv", "inputs");
    folder_make(t, "share", NULL);
    run_line(t, "stall --d-k 2 --steps 3 --seed 0" SMALL, " --shard 1/1", "share");
    char *share = file_read(t, "share", "x.csv.1-of-1.partial", &bytes);
    file_write(t, "inputs", "s.share", share ? share : "", bytes);
    free(share);
    file_write(t, "inputs", "page.html", PAGE, sizeof PAGE - 1);
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        char from[128], file[32];
        (void)snprintf(from, sizeof from, "tests/golden/gradients/%s.npy", FILES[i]);
        (void)snprintf(file, sizeof file, "%s.npy", FILES[i]);
        file_copy(t, from, "inputs", file);
    }
}

static void before_name(const tiny *command, state s, char name[64]) {
    (void)snprintf(name, 64, "%s.before.%s", command->name, state_name(s));
}

static void make_before(const torture *t, const tiny *command, state s, char name[64]) {
    before_name(command, s, name);
    folder_make(t, name, "inputs");
    if (s == EMPTY) return;
    run_line(t, command->line, s == OTHER ? command->other : "", name);
    if (s == SAME) file_write(t, name, "x.csv", "stale\n", 6);
}

void expected_make(const torture *t, const tiny *command, expected *e) {
    static const torture *made;
    char name[64], text[TEXT_BYTES], *words[WORDS_MOST];
    if (made != t) make_inputs(t);
    made = t;
    e->states = command->other ? STATES : 1;
    for (int s = 0; s < e->states; s++) {
        make_before(t, command, (state)s, name);
        folder_read(t, name, &e->before[s]);
        folder_make(t, "expected", name);
        (void)snprintf(text, sizeof text, "%s", command->line);
        words_of(t, text, words);
        e->outcome[s] = run(t, words, "expected", 60);
        if (e->outcome[s].code != 0) {
            (void)fprintf(stderr, "torture: %s: %s\n", command->line, e->outcome[s].err);
            exit(2);
        }
        folder_read(t, "expected", &e->after[s]);
    }
}

void expected_free(expected *e) {
    for (int s = 0; s < e->states; s++) outcome_free(&e->outcome[s]);
}

void tiny_prepare(const torture *t, const tiny *command, state s, const char *name) {
    char before[64];
    before_name(command, s, before);
    folder_make(t, name, before);
}

/* What may stay of an interrupted run that can be resumed: a partial file with a run in it. */
static bool is_worth_resuming(const torture *t, const char *name) {
    size_t bytes;
    char *text = file_read(t, name, "x.csv.partial", &bytes);
    const bool worth = text && strstr(text, "# complete,");
    free(text);
    return worth;
}

static int index_of(const folder *f, const char *name) {
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->file[i].name, name) == 0) return i;
    return -1;
}

/* Takes out what is kept of earlier results, under whatever number; how many files that were. */
static int forget_kept(folder *f, const folder *before) {
    int forgotten = 0;
    for (int i = f->count - 1; i >= 0; i--) {
        char name[260];
        if (strncmp(f->file[i].name, "x.", 2) != 0 || !strchr("123", f->file[i].name[2])) continue;
        (void)snprintf(name, sizeof name, "x%s", f->file[i].name + 3);
        const int was = index_of(before, name);
        if (was < 0 || before->file[was].hash != f->file[i].hash) continue;
        memmove(&f->file[i], &f->file[i + 1], (size_t)(--f->count - i) * sizeof *f->file);
        forgotten++;
    }
    return forgotten;
}

/* Whether two texts are the same but for blanks and line ends: without memory lines stay whole. */
static bool same_words(const char *a, const char *b) {
    static const char BLANKS[] = " \n";
    for (;;) {
        a += strspn(a, BLANKS);
        b += strspn(b, BLANKS);
        if (*a != *b) return false;
        if (!*a) return true;
        a++;
        b++;
    }
}

static char said[4 * TEXT_BYTES];

static const char *ended_well(const expected *e, state s, folder *after, const outcome *o) {
    const outcome *good = &e->outcome[s];
    folder right = e->after[s];
    const int kept = forget_kept(&right, &e->before[s]), found = forget_kept(after, &e->before[s]);
    const char *other = folder_differs(after, &right, NULL);
    /* equal settings that could not be read are taken for others */
    if (!other && found != kept && s != SAME) return "exit 0, but earlier results are not kept";
    if (other) {
        /* what could not be removed is named */
        if (strstr(o->err, other) && folder_left_over(after) == other) return NULL;
        (void)snprintf(said, sizeof said, "exit 0, but %s is not what it should be: %.600s", other,
                       o->err);
        return said;
    }
    if (!same_words(o->out, good->out)) return "exit 0, but standard output is not complete";
    return NULL;
}

const char *tiny_wrong(const torture *t, const tiny *command, const expected *e, state s,
                       const char *name, const outcome *o) {
    folder after;
    const char *wrong = outcome_wrong(o);
    folder_read(t, name, &after);
    if (o->code == 0) return ended_well(e, s, &after, o);
    if (wrong) return wrong;
    if (o->code != 1) return "exit 2, though the usage is right";
    const char *but = command->resumes && is_worth_resuming(t, name) ? ".partial" : NULL;
    const char *other = folder_differs(&after, &e->before[s], but);
    if (!other || !folder_differs(&after, &e->after[s], but)) return NULL;
    if (strstr(o->err, other) && folder_left_over(&after) == other) return NULL;
    (void)snprintf(said, sizeof said, "exit 1, but %s is not as it was: %.600s", other, o->err);
    return said;
}
