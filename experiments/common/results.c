#include "common/results.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/keep.h"
#include "common/message.h"
#include "common/quote.h"
#include "common/settings.h"
#include "common/text.h"

enum { LINE_BYTES = 4096, BESIDE_MOST = 32 };

static const char BESIDE[] = "files =";
static const char NO_ENDING[] = "FILE"; /* in that line, for a FILE whose name ends in no .csv */

bool results_option(const options *o, const char **path) {
    *path = options_text(o, "output");
    return (*path)[0] != '\0' ||
           complain("--output '': expected a file name, or - for standard output");
}

/* FILE's own ending: what output_beside takes off. */
static const char *own_ending(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".csv") == 0 ? ".csv" : "";
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool open_beside(results *r, int f, const char *ending) {
    char *path = output_beside(r->path, ending);
    bool good = path || complain_of_memory();
    if (good && output_is_direct(path)) good = complain("cannot write %s: no regular file", path);
    good = good && output_open(&r->file[f], path);
    free(path);
    return good;
}

bool results_open(results *r, const options *o, const char *const *endings, int count) {
    const char *path = options_text(o, "output");
    *r = (results){.options = o,
                   .path = path,
                   .endings = endings,
                   .count = count,
                   .direct = output_is_direct(path)};
    bool good = output_open(&r->file[0], path);
    for (int f = 1; good && !r->direct && f < count; f++)
        good = !endings[f] || open_beside(r, f, endings[f]);
    if (good && !r->direct) good = open_beside(r, count, ".meta");
    if (!good) results_discard(r);
    return good;
}

bool results_may_open(const options *o, const char *const *endings, int count) {
    results r;
    if (output_is_direct(options_text(o, "output"))) return true;
    bool good = results_open(&r, o, endings, count);
    results_discard(&r);
    return good;
}

output *results_also(results *r) {
    return &r->file[r->count + 1 + r->also++];
}

/* ---- What stands there already --------------------------------------------------------------- */

/* The earlier set: its endings beside the stem, FILE's own first. */
typedef struct earlier {
    bool exists, same;     /* settings */
    char line[LINE_BYTES]; /* of its .meta, which the endings point into */
    const char *ending[BESIDE_MOST];
    int count;
} earlier;

static void add_ending(earlier *e, const char *ending) {
    for (int i = 0; i < e->count; i++)
        if (strcmp(e->ending[i], ending) == 0) return;
    if (e->count < BESIDE_MOST) e->ending[e->count++] = ending;
}

/* Compares settings with the file's first paragraph, and finds the line that lists its set. */
static void read_meta(earlier *e, FILE *from, const char *settings) {
    bool first = true, fresh = true; /* a long line comes in pieces */
    e->same = true;
    for (size_t length; fgets(e->line, sizeof e->line, from); fresh = e->line[length - 1] == '\n') {
        length = strlen(e->line);
        if (!first && fresh && strncmp(e->line, BESIDE, strlen(BESIDE)) == 0) return;
        if (first && fresh && e->line[0] == '\n') {
            first = false;
            e->same = e->same && *settings == '\0';
        } else if (first) {
            e->same = e->same && strncmp(e->line, settings, length) == 0;
            if (e->same) settings += length;
        }
    }
    e->line[0] = '\0';
    e->same = false; /* not such a file */
}

static bool stands(const results *r, const char *ending) {
    char *path = output_beside(r->path, ending);
    bool there = path && access(path, F_OK) == 0;
    free(path);
    return there;
}

static void look(earlier *e, const results *r, const char *settings) {
    char *path = output_beside(r->path, ".meta");
    FILE *from = path ? fopen(path, "r") : NULL;
    bool own = false;
    *e = (earlier){.exists = from != NULL};
    add_ending(e, own_ending(r->path));
    add_ending(e, ".meta");
    for (int f = 1; f < r->count; f++)
        if (r->endings[f]) add_ending(e, r->endings[f]);
    if (from) {
        read_meta(e, from, settings);
        (void)strtok(e->line, "=");
        for (char *at; (at = strtok(NULL, " \n"));) {
            const char *ending = strcmp(at, NO_ENDING) == 0 ? "" : at;
            own = own || strcmp(ending, own_ending(r->path)) == 0;
            if (!strchr(at, '/') && (at[0] == '_' || at[0] == '.' || ending[0] == '\0'))
                add_ending(e, ending);
        }
        (void)fclose(from);
    }
    e->same = e->same && own; /* x and x.csv share their neighbours */
    for (int i = 0; i < e->count; i++) e->exists = e->exists || stands(r, e->ending[i]);
    free(path);
}

/* Files of a replaced set that the new one does not have: false, and one line, if one stays. */
static bool remove_stale(const results *r, const earlier *e) {
    bool good = true;
    for (int i = 0; good && i < e->count; i++) {
        bool stays = e->ending[i][0] != '_';
        for (int f = 1; f < r->count; f++)
            stays = stays || (r->endings[f] && strcmp(r->endings[f], e->ending[i]) == 0);
        if (stays) continue;
        char *path = output_beside(r->path, e->ending[i]);
        if (!path || (unlink(path) != 0 && errno != ENOENT))
            good = complain("cannot remove %s: %s", path ? path : e->ending[i], strerror(errno));
        free(path);
    }
    return good;
}

/* ---- Putting in place ------------------------------------------------------------------------ */

static void write_meta(const results *r, const char *settings) {
    FILE *to = r->file[r->count].stream;
    (void)fprintf(to, "%s\n", settings);
    settings_record(to);
    const char *own = own_ending(r->path);
    (void)fprintf(to, "%s %s", BESIDE, own[0] ? own : NO_ENDING);
    for (int f = 1; f < r->count; f++)
        if (r->endings[f]) (void)fprintf(to, " %s", r->endings[f]);
    (void)fputs(" .meta\n", to);
}

static bool close_all(results *r) {
    for (int f = 0; f <= r->count + r->also; f++)
        if (r->file[f].stream && !output_close(&r->file[f])) return false;
    return true;
}

static bool may_replace_all(const results *r) {
    for (int f = 0; f <= r->count + r->also; f++)
        if (!output_may_replace(&r->file[f])) return false;
    return true;
}

/* Nothing may come between the earlier set's going and the new one's coming. */
static bool take_places(results *r, const char *settings) {
    earlier before;
    kept k = {.count = 0};
    look(&before, r, settings);
    const bool give_way = before.exists && !before.same && !options_flag(r->options, "force");
    bool good = !give_way || keep_aside(&k, r->path, before.ending, before.count);
    if (good && !output_commit_all(r->file, r->count + 1 + r->also)) {
        kept_undo(&k);
        good = false;
    }
    if (good && k.count > 0)
        (void)complain("%s, of other settings, is kept as %s", k.from[0], k.to[0]);
    if (good && !give_way) good = remove_stale(r, &before);
    kept_free(&k);
    return good;
}

static void print_settings(FILE *to, const void *context) {
    const results *r = context;
    char *settings = settings_describe(r->options);
    (void)fputs(settings ? settings : "", to);
    if (r->missing > 0) (void)fprintf(to, "missing = %td\n", r->missing);
    free(settings);
}

bool results_commit(results *r) {
    sigset_t signals;
    if (r->direct)
        return may_replace_all(r) && output_commit_all(r->file + r->count + 1, r->also) &&
               output_close(&r->file[0]);
    size_t size;
    char *settings = text_print(print_settings, r, &size);
    if (!settings || !*settings) {
        free(settings);
        return complain_of_memory();
    }
    write_meta(r, settings);
    bool good = close_all(r) && may_replace_all(r);
    if (good) {
        output_hold_signals(&signals);
        good = take_places(r, settings);
        output_release_signals(&signals);
    }
    free(settings);
    return good;
}

void results_discard(results *r) {
    for (int f = 0; f <= r->count + r->also; f++) output_discard(&r->file[f]);
}

FILE *results_people(const results *r) {
    return r->direct ? stderr : stdout;
}

static void print_files(FILE *to, const void *context) {
    const results *r = context;
    const char *before = ", and beside it ", *own = own_ending(r->path);
    bool stem = true;
    (void)fputs("\nWritten: ", to);
    quote_print(to, r->path, strlen(r->path));
    for (int f = 1; f <= r->count; f++) {
        const char *ending = f == r->count ? ".meta" : r->endings[f];
        if (!ending) continue;
        (void)fputs(before, to);
        if (stem) quote_print(to, r->path, strlen(r->path) - strlen(own));
        (void)fputs(ending, to);
        before = ", ";
        stem = false;
    }
    (void)fputc('\n', to);
}

void results_say(const results *r, FILE *to) {
    if (!r->direct) text_flow_from(to, print_files, r, 0);
}
