#include "common/results.h"

#include <stdlib.h>

#include "common/message.h"

bool results_option(const options *o, const char **path) {
    *path = options_text(o, "output");
    return (*path)[0] != '\0' ||
           complain("--output '': expected a file name, or - for standard output");
}

static bool open_one(results *r, int f) {
    if (f == 0) return output_open(&r->file[0], r->path);
    if (r->direct || !r->endings[f]) return true;
    char *path = output_beside(r->path, r->endings[f]);
    bool good = path ? output_open(&r->file[f], path) : complain("out of memory");
    free(path);
    return good;
}

bool results_open(results *r, const char *path, const char *const *endings, int count) {
    *r = (results){
        .path = path, .endings = endings, .count = count, .direct = output_is_direct(path)};
    bool good = true;
    for (int f = 0; good && f < count; f++) good = open_one(r, f);
    if (!good) results_discard(r);
    return good;
}

bool results_may_open(const char *path, const char *const *endings, int count) {
    results r;
    bool good = results_open(&r, path, endings, count);
    results_discard(&r);
    return good;
}

bool results_commit(results *r) {
    bool good = true, open[RESULTS_MOST] = {false};
    for (int f = 0; f < r->count; f++) open[f] = r->file[f].stream != NULL;
    for (int f = 0; good && f < r->count; f++) good = !open[f] || output_close(&r->file[f]);
    for (int f = 0; good && f < r->count; f++) good = !open[f] || output_commit(&r->file[f]);
    return good;
}

void results_discard(results *r) {
    for (int f = 0; f < r->count; f++) output_discard(&r->file[f]);
}

void results_say(const results *r, FILE *to) {
    if (r->direct) return;
    char *stem = output_beside(r->path, "");
    const char *before = ", and beside it ", *part = stem ? stem : "";
    (void)fprintf(to, "\nWritten: %s", r->path);
    for (int f = 1; f < r->count; f++) {
        if (!r->endings[f]) continue;
        (void)fprintf(to, "%s%s%s", before, part, r->endings[f]);
        before = ", ";
        part = "";
    }
    (void)fputc('\n', to);
    free(stem);
}
