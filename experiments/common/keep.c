#include "common/keep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"
#include "common/output.h"

enum { NUMBERS_MOST = 1000000 };

/* The name of an ending under a number; the caller frees. */
static char *numbered(const char *path, const char *ending, int number) {
    const size_t bytes = strlen(ending) + 32;
    char *text = malloc(bytes), *name = NULL;
    if (text) {
        (void)snprintf(text, bytes, ".%d%s", number, ending);
        name = output_beside(path, text);
    }
    free(text);
    return name;
}

/* Whether something stands under this name; without memory -1. */
static int taken(const char *path, const char *ending, int number) {
    struct stat info;
    char *name = numbered(path, ending, number);
    const int there = name ? lstat(name, &info) == 0 : -1;
    free(name);
    return there;
}

/* The least number under which none of the endings stands, nor what every set may have; 0 if there
 * is none, -1 without memory. */
static int free_number(const char *path, const char *const *endings, int count) {
    static const char *const ANY[] = {"", ".csv", ".meta", ".partial", ".csv.partial"};
    const int any = sizeof ANY / sizeof *ANY;
    for (int n = 1; n < NUMBERS_MOST; n++) {
        int there = 0;
        for (int i = 0; there == 0 && i < any + count; i++)
            there = taken(path, i < any ? ANY[i] : endings[i - any], n);
        if (there < 0) return -1;
        if (there == 0) return n;
    }
    return 0;
}

/* Never onto another file: a second name is refused where there is one already. */
static bool move(const char *from, const char *to) {
    if (link(from, to) == 0) {
        if (unlink(from) == 0) return true;
        const int reason = errno;
        (void)unlink(to);
        errno = reason;
        return false;
    }
    return errno != EEXIST && rename(from, to) == 0;
}

static bool keep_one(kept *k, const char *path, const char *ending, int number) {
    struct stat info;
    char *name = output_beside(path, ending), *to = numbered(path, ending, number);
    const bool there = name && lstat(name, &info) == 0;
    char *from = there && S_ISLNK(info.st_mode) ? realpath(name, NULL) : NULL;
    if (there && !from) from = strdup(name);
    bool good = name && to && (!there || (from && move(from, to)));
    if (!good) (void)complain("cannot keep %s: %s", name ? name : path, strerror(errno));
    free(name);
    if (good && there) {
        k->from[k->count] = from;
        k->to[k->count++] = to;
        return true;
    }
    free(from);
    free(to);
    return good;
}

bool keep_aside(kept *k, const char *path, const char *const *endings, int count) {
    const int number = free_number(path, endings, count);
    *k = (kept){.count = 0};
    if (number < 0) return complain_of_memory();
    if (number == 0 || count > KEPT_MOST)
        return complain("%s: no number is free to keep it under", path);
    for (int i = 0; i < count; i++)
        if (!keep_one(k, path, endings[i], number)) {
            kept_undo(k);
            return false;
        }
    return true;
}

void kept_undo(kept *k) {
    for (int i = 0; i < k->count; i++)
        if (!move(k->to[i], k->from[i]))
            (void)complain("%s could not be put back, and is kept as %s", k->from[i], k->to[i]);
}

void kept_free(kept *k) {
    for (int i = 0; i < k->count; i++) {
        free(k->from[i]);
        free(k->to[i]);
    }
    *k = (kept){.count = 0};
}
