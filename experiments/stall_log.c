/* stall_log.c: see stall_log.h. */
#include "stall_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

static const char TITLE[] = "# sqrtdk stall, unfinished: complete cells in the order they ended\n";
static const char COMPLETE[] = "# complete,";

enum { SETTINGS_AFTER = M_MOVED, LINE_BYTES = 4096 };

void stall_log_header(FILE *to) {
    (void)fputs("seed,d_k,scale,lr,step", to);
    for (int m = 0; m < MEASURES; m++) {
        (void)fprintf(to, ",%s", MEASURE_NAMES[m]);
        if (m == SETTINGS_AFTER) (void)fputs(",init,init_gain,kappa", to);
    }
    (void)fputc('\n', to);
}

static void print_cell_key(FILE *to, const cell *c) {
    char number[NUMBER_BYTES];
    (void)fprintf(to, "%" PRId64 ",%" PRId64 ",%s,%s", c->seed, c->d_k, c->scale->name,
                  output_number(number, c->lr));
}

void stall_log_cell(FILE *to, const cell *c, const char *init) {
    char number[NUMBER_BYTES];
    for (tt_size r = 0; r < c->row_count; r++) {
        print_cell_key(to, c);
        (void)fprintf(to, ",%" PRId64, c->rows[r].step);
        for (int m = 0; m < MEASURES; m++) {
            (void)fprintf(to, ",%s", output_number(number, c->rows[r].value[m]));
            if (m != SETTINGS_AFTER) continue;
            (void)fprintf(to, ",%s,%s", init, output_number(number, c->gain));
            (void)fprintf(to, ",%s", output_number(number, c->kappa));
        }
        (void)fputc('\n', to);
    }
}

void stall_log_all(FILE *to, const sweep *s, const char *init) {
    stall_log_header(to);
    for (tt_size i = 0; i < s->count; i++) stall_log_cell(to, &s->cells[i], init);
}

void stall_partial_header(FILE *to, const char *settings) {
    (void)fputs(TITLE, to);
    for (const char *line = settings; *line;) {
        int length = (int)strcspn(line, "\n");
        (void)fprintf(to, "# %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
    stall_log_header(to);
}

void stall_partial_cell(FILE *to, const cell *c, const char *init) {
    char number[NUMBER_BYTES];
    stall_log_cell(to, c, init);
    (void)fputs(COMPLETE, to);
    print_cell_key(to, c);
    (void)fprintf(to, ",%td,%s\n", c->steps, output_number(number, c->ratio));
}

/* ---- Reading back ---------------------------------------------------------------------------- */

/* Whether the file begins exactly as a partial file of this run begins. */
static bool same_beginning(FILE *from, const char *settings) {
    char *text = NULL;
    size_t size = 0;
    FILE *expected = open_memstream(&text, &size);
    if (!expected) return false;
    stall_partial_header(expected, settings);
    bool same = fclose(expected) == 0;
    for (size_t i = 0; same && i < size; i++) same = fgetc(from) == (unsigned char)text[i];
    free(text);
    return same;
}

/* The cell that a line's first fields (seed, d_k, scale, lr) name, and where they end. */
static cell *named_cell(const sweep *s, const char *line, const char **rest) {
    char key[LINE_BYTES];
    for (tt_size i = 0; i < s->count; i++) {
        cell *c = &s->cells[i];
        char number[NUMBER_BYTES];
        int length = snprintf(key, sizeof key, "%" PRId64 ",%" PRId64 ",%s,%s,", c->seed, c->d_k,
                              c->scale->name, output_number(number, c->lr));
        if (strncmp(line, key, (size_t)length) != 0) continue;
        *rest = line + length;
        return c;
    }
    return NULL;
}

static bool next_number(const char **at, double *out) {
    char *end;
    *out = strtod(*at, &end);
    bool good = end != *at && (*end == ',' || *end == '\n');
    *at = *end == ',' ? end + 1 : end;
    return good;
}

/* One row of a cell from the text behind its key. */
static bool read_row(const char *at, log_row *row) {
    double number;
    if (!next_number(&at, &number)) return false;
    row->step = (int64_t)number;
    for (int m = 0; m < MEASURES; m++) {
        if (!next_number(&at, &row->value[m])) return false;
        if (m != SETTINGS_AFTER) continue;
        at += strcspn(at, ","); /* init */
        if (*at++ != ',' || !next_number(&at, &number) || !next_number(&at, &number)) return false;
    }
    return *at == '\n';
}

static bool read_end(const char *at, cell *c) {
    double steps;
    bool good = next_number(&at, &steps) && next_number(&at, &c->ratio);
    c->steps = (tt_size)steps;
    return good;
}

static bool read_line(const sweep *s, tt_size most_rows, const char *line) {
    const size_t mark = strlen(COMPLETE);
    bool complete = strncmp(line, COMPLETE, mark) == 0;
    const char *rest;
    cell *c = named_cell(s, complete ? line + mark : line, &rest);
    if (!c || c->finished) return false;
    if (complete) return c->finished = read_end(rest, c);
    if (!c->rows) c->rows = calloc((size_t)most_rows, sizeof *c->rows);
    if (!c->rows || c->row_count == most_rows) return false;
    return read_row(rest, &c->rows[c->row_count++]);
}

partial_result stall_partial_read(const char *path, const char *settings, sweep *s) {
    char line[LINE_BYTES];
    tt_size most_rows = (s->config.steps - 1) / s->config.every + 2;
    FILE *from = fopen(path, "r");
    if (!from) return PARTIAL_MISSING;
    partial_result result = same_beginning(from, settings) ? PARTIAL_READ : PARTIAL_OTHER;
    while (result == PARTIAL_READ && fgets(line, sizeof line, from)) {
        if (!strchr(line, '\n')) break; /* cut off in the middle of a line */
        if (!read_line(s, most_rows, line)) result = PARTIAL_DAMAGED;
    }
    (void)fclose(from);
    for (tt_size i = 0; i < s->count; i++)
        if (!s->cells[i].finished) s->cells[i].row_count = 0;
    return result;
}
