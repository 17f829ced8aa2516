#include "common/keep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/message.h"
#include "common/output.h"

enum { NUMBERS_MOST = 1000000, ENDING_BYTES = 128 };

/* The name of an ending under a number; 0: its own. */
static char *name_of(const char *path, const char *ending, int number) {
    char numbered[ENDING_BYTES];
    (void)snprintf(numbered, sizeof numbered, ".%d%s", number, ending);
    return output_beside(path, number > 0 ? numbered : ending);
}

static bool exists(const char *path, const char *ending, int number) {
    char *name = name_of(path, ending, number);
    bool there = name && access(name, F_OK) == 0;
    free(name);
    return there;
}

/* The least number under which none of the endings stands, nor what every set may have. */
static int free_number(const char *path, const char *const *endings, int count) {
    static const char *const ANY[] = {"", ".csv", ".meta", ".partial", ".csv.partial"};
    for (int n = 1; n < NUMBERS_MOST; n++) {
        bool taken = false;
        for (size_t i = 0; i < sizeof ANY / sizeof *ANY; i++)
            taken = taken || exists(path, ANY[i], n);
        for (int i = 0; i < count; i++) taken = taken || exists(path, endings[i], n);
        if (!taken) return n;
    }
    return 0;
}

static bool move(const char *path, const char *ending, int from, int to) {
    char *a = name_of(path, ending, from), *b = name_of(path, ending, to);
    bool good = a && b && (rename(a, b) == 0 || errno == ENOENT);
    if (!good) (void)complain("cannot rename %s: %s", a ? a : path, strerror(errno));
    free(a);
    free(b);
    return good;
}

bool keep_aside(const char *path, const char *const *endings, int count, char **kept) {
    const int number = free_number(path, endings, count);
    int first = -1, moved = 0;
    *kept = NULL;
    for (int i = count - 1; i >= 0; i--)
        if (exists(path, endings[i], 0)) first = i;
    if (first < 0) return true;
    if (number == 0) return complain("%s: no number is free to keep it under", path);
    while (moved < count && move(path, endings[moved], 0, number)) moved++;
    if (moved == count) *kept = name_of(path, endings[first], number);
    for (int i = 0; moved < count && i < moved; i++) (void)move(path, endings[i], number, 0);
    return moved == count;
}
