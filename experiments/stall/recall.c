#include "stall/recall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/output.h"
#include "training/sweep_runs.h"

/* Takes a line of a file with its end; `context` is its reader's. */
typedef bool take_line(void *context, char *line);

/* The lines behind a CSV's head. */
static bool read_lines(const char *path, take_line *head, take_line *take, void *context) {
    FILE *from = fopen(path, "r");
    char *line = NULL;
    size_t bytes = 0, at = 0;
    bool good = from;
    if (!from) return complain("cannot open '%s': %s", path, strerror(errno));
    for (; good && getline(&line, &bytes, from) >= 0; at++) {
        good = at == 0 ? head(context, line) : take(context, line);
        if (!good) (void)complain("%s, line %zu: expected a line of this sweep", path, at + 1);
    }
    if (good && (at == 0 || ferror(from))) good = complain("%s: expected a CSV", path);
    free(line);
    (void)fclose(from);
    return good;
}

/* ---- The log --------------------------------------------------------------------------------- */

static bool pass(void *context, char *line) {
    (void)context;
    (void)line;
    return true;
}

static bool take_row(void *context, char *line) {
    const partial_runs *runs = context;
    return runs->read_row(runs->context, line);
}

/* ---- How each run ended ---------------------------------------------------------------------- */

enum { KEY_FIELDS = 5, FIELDS_MOST = 32 };

/* What the end of a run is made of, in the order of the partial file. */
enum { STEPS, ENDED, MIDDLE, NEEDED };
static const char *const NAMES[NEEDED] = {"steps_taken", "ratio", "ratio_middle"};

typedef struct ends {
    const partial_runs *runs;
    int column[NEEDED];
} ends;

/* Cuts a line at its commas; their count. No field before the last is quoted. */
static int cut(char *line, char *field[FIELDS_MOST]) {
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && count < FIELDS_MOST; count++) {
        field[count] = at;
        at = strchr(at, ',');
        if (at) *at++ = '\0';
    }
    return count;
}

static bool find_columns(void *context, char *line) {
    ends *e = context;
    char *field[FIELDS_MOST];
    const int count = cut(line, field);
    for (int n = 0; n < NEEDED; n++) {
        e->column[n] = -1;
        for (int i = KEY_FIELDS; i < count; i++)
            if (strcmp(field[i], NAMES[n]) == 0) e->column[n] = i;
        if (e->column[n] < 0) return false;
    }
    return true;
}

static bool take_end(void *context, char *line) {
    const ends *e = context;
    char *field[FIELDS_MOST], text[256];
    const int count = cut(line, field);
    for (int n = 0; n < NEEDED; n++)
        if (e->column[n] >= count) return false;
    const int used = snprintf(text, sizeof text, "%s,%s,%s,%s,%s,%s,%s,%s", field[0], field[1],
                              field[2], field[3], field[4], field[e->column[STEPS]],
                              field[e->column[ENDED]], field[e->column[MIDDLE]]);
    return used < (int)sizeof text && e->runs->read_end(e->runs->context, text);
}

bool recall_sweep(sweep *s, const char *path) {
    partial_runs runs = sweep_runs(s, "stall");
    ends e = {.runs = &runs};
    char *beside = output_beside(path, "_runs.csv");
    if (!beside) return complain_of_memory();
    bool good =
        read_lines(path, pass, take_row, &runs) && read_lines(beside, find_columns, take_end, &e);
    for (tt_size i = 0; good && i < s->count; i++)
        if (!s->runs[i].finished) good = complain("%s: a run of its settings is missing", beside);
    free(beside);
    return good;
}
