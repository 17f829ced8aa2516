/* allocations.c: in each subcommand, over each state of the folder, the n-th allocation fails,
 * alone or with all that follow it, for every n. A case is COMMAND/STATE/N or COMMAND/STATE/N+.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tiny.h"

typedef struct failing {
    const char *library, *count;
    long at;
    bool all;
} failing;

typedef struct failure {
    int command, state;
    long at;
    bool all;
} failure;

static void preload(void *context) {
    const failing *f = context;
    char number[32];
    (void)snprintf(number, sizeof number, "%ld", f->at);
    (void)setenv("LD_PRELOAD", f->library, 1);
    (void)setenv("FAIL_AT", number, 1);
    if (f->all) (void)setenv("FAIL_ALL", "1", 1);
    if (f->count) (void)setenv("FAIL_COUNT", f->count, 1);
}

static outcome run_failing(const torture *t, int command, const failing *f) {
    char text[TEXT_BYTES], *words[WORDS_MOST];
    (void)snprintf(text, sizeof text, "%s", TINY[command].line);
    words_of(t, text, words);
    return run_end(t, run_start(t, words, "case", 30, preload, (void *)(uintptr_t)f));
}

/* How many allocations a command makes. */
static long count(const torture *t, int command, int s, const char *library) {
    char path[2 * PATH_BYTES];
    size_t bytes;
    (void)snprintf(path, sizeof path, "%s/count", t->scratch);
    const failing none = {library, path, 0, false};
    tiny_prepare(t, &TINY[command], (state)s, "case");
    outcome o = run_failing(t, command, &none);
    outcome_free(&o);
    char *text = file_read(t, "count", "", &bytes);
    const long found = text ? strtol(text, NULL, 10) : 0;
    free(text);
    return found;
}

static void try(torture *t, const failure *f, const expected *e, const char *library) {
    char name[128];
    const failing now = {library, NULL, f->at, f->all};
    (void)snprintf(name, sizeof name, "%s/%s/%ld%s", TINY[f->command].name,
                   state_name((state)f->state), f->at, f->all ? "+" : "");
    if (!torture_wants(t, name)) return;
    tiny_prepare(t, &TINY[f->command], (state)f->state, "case");
    outcome o = run_failing(t, f->command, &now);
    torture_count(t, name,
                  tiny_wrong(t, &TINY[f->command], &e[f->command], (state)f->state, "case", &o));
    if (t->only)
        printf("sqrtdk %s\nexit %d, signal %d\n%s%s", TINY[f->command].line, o.code, o.signal,
               o.out, o.err);
    outcome_free(&o);
}

int main(int argc, char **argv) {
    /* from the folder of a case: LD_PRELOAD would take a blank in a path for its end */
    static const char LIBRARY[] = "../failing_allocation.so";
    torture t;
    char built[2 * PATH_BYTES], here[2 * PATH_BYTES];
    failure *list = NULL;
    long length = 0;
    torture_start(&t, "allocations", "sqrtdk", argc, argv);
    (void)snprintf(built, sizeof built, "%s/failing_allocation.so", t.programs);
    (void)snprintf(here, sizeof here, "%s/failing_allocation.so", t.scratch);
    if (symlink(built, here) != 0) {
        perror(here);
        return 2;
    }
    expected *e = calloc((size_t)TINY_COUNT, sizeof *e);
    if (!e) return 2;
    for (int c = 0; c < TINY_COUNT; c++) {
        expected_make(&t, &TINY[c], &e[c]);
        for (int s = 0; s < e[c].states; s++) {
            const long most = count(&t, c, s, LIBRARY);
            if (most == 0) {
                (void)fputs("allocations: nothing is counted: is the library not loaded?\n",
                            stderr);
                return 2;
            }
            for (long n = 1; n <= most; n++) {
                list = torture_grow(list, length, sizeof *list);
                list[length++] = (failure){c, s, n, false};
                list = torture_grow(list, length, sizeof *list);
                list[length++] = (failure){c, s, n, true};
            }
        }
    }
    torture_shuffle(&t, list, length, sizeof *list);
    for (long i = 0; i < length && (t.only || torture_goes_on(&t)); i++)
        try(&t, &list[i], e, LIBRARY);
    for (int c = 0; c < TINY_COUNT; c++) expected_free(&e[c]);
    free(e);
    free(list);
    return torture_end(&t, length);
}
