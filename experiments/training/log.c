/* log.c: see stall_log.h. */
#include "training/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/output.h"

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

/* FNV-1a over a cell's lines: whoever resumes a run must not build on a damaged cell. */
static const uint64_t HASH_START = UINT64_C(0xcbf29ce484222325);

static uint64_t hash_of(uint64_t hash, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

bool stall_partial_cell(FILE *to, const cell *c, const char *init) {
    char number[NUMBER_BYTES], *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);
    if (!lines) return false;
    stall_log_cell(lines, c, init);
    (void)fputs(COMPLETE, lines);
    print_cell_key(lines, c);
    (void)fprintf(lines, ",%td,%s,", c->steps, output_number(number, c->ratio));
    bool good = fclose(lines) == 0;
    if (good) (void)fprintf(to, "%s%016" PRIx64 "\n", text, hash_of(HASH_START, text, size));
    free(text);
    return good && fflush(to) == 0 && !ferror(to);
}

/* ---- Reading back ---------------------------------------------------------------------------- */

/* Compares the file's beginning with that of a partial file of this run. */
static partial_result compare_beginning(FILE *from, const char *settings) {
    char *text = NULL;
    size_t size = 0;
    partial_result result = PARTIAL_READ;
    FILE *expected = open_memstream(&text, &size);
    if (!expected) return PARTIAL_DAMAGED;
    stall_partial_header(expected, settings);
    if (fclose(expected) != 0) result = PARTIAL_DAMAGED;
    for (size_t i = 0; result == PARTIAL_READ && i < size; i++) {
        int c = fgetc(from);
        if (c == EOF)
            result = i == 0 ? PARTIAL_MISSING : PARTIAL_DAMAGED;
        else if (c != (unsigned char)text[i])
            result = PARTIAL_OTHER;
    }
    free(text);
    return result;
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
    char *end;
    row->step = strtoll(at, &end, 10);
    if (*end != ',') return false;
    at = end + 1;
    for (int m = 0; m < MEASURES; m++) {
        if (!next_number(&at, &row->value[m])) return false;
        if (m != SETTINGS_AFTER) continue;
        at += strcspn(at, ","); /* init */
        if (*at++ != ',' || !next_number(&at, &number) || !next_number(&at, &number)) return false;
    }
    return *at == '\n';
}

/* The cell that a line's first fields (seed, d_k, scale, lr) name, and where they end. */
static cell *named_cell(const sweep *s, const char *line, const char **rest) {
    char *at, *end;
    const int64_t seed = strtoll(line, &at, 10);
    const int64_t d_k = *at == ',' ? strtoll(at + 1, &at, 10) : 0;
    if (*at != ',') return NULL;
    const char *scale = at + 1;
    const size_t length = strcspn(scale, ",");
    if (scale[length] != ',') return NULL;
    const double lr = strtod(scale + length + 1, &end);
    *rest = end + (*end == ',');
    for (tt_size i = 0; *end == ',' && i < s->count; i++) {
        cell *c = &s->cells[i];
        if (c->seed == seed && c->d_k == d_k && c->lr == lr &&
            strncmp(c->scale->name, scale, length) == 0 && c->scale->name[length] == '\0')
            return c;
    }
    return NULL;
}

/* The last line of a cell: steps taken, ratio, and the hash of all before it. */
static bool read_end(const char *line, const char *at, uint64_t hash, cell *c) {
    double steps;
    if (!next_number(&at, &steps) || !next_number(&at, &c->ratio)) return false;
    c->steps = (tt_size)steps;
    char expected[32];
    (void)snprintf(expected, sizeof expected, "%016" PRIx64 "\n",
                   hash_of(hash, line, (size_t)(at - line)));
    return strcmp(at, expected) == 0;
}

/* One line; *hash is that of the cell's lines so far. */
static bool read_line(const sweep *s, tt_size most_rows, const char *line, uint64_t *hash) {
    const size_t mark = strlen(COMPLETE);
    bool complete = strncmp(line, COMPLETE, mark) == 0;
    const char *rest;
    cell *c = named_cell(s, complete ? line + mark : line, &rest);
    if (!c || c->finished) return false;
    if (complete) {
        c->finished = read_end(line, rest, *hash, c);
        *hash = HASH_START;
        return c->finished;
    }
    *hash = hash_of(*hash, line, strlen(line));
    if (!c->rows) c->rows = calloc((size_t)most_rows, sizeof *c->rows);
    if (!c->rows || c->row_count == most_rows) return false;
    return read_row(rest, &c->rows[c->row_count++]);
}

partial_result stall_partial_read(FILE *from, const char *settings, sweep *s) {
    char line[LINE_BYTES];
    uint64_t hash = HASH_START;
    tt_size most_rows = (s->config.steps - 1) / s->config.every + 2;
    partial_result result = compare_beginning(from, settings);
    while (result == PARTIAL_READ && fgets(line, sizeof line, from)) {
        if (!strchr(line, '\n')) break; /* cut off in the middle of a line */
        if (!read_line(s, most_rows, line, &hash)) result = PARTIAL_DAMAGED;
    }
    for (tt_size i = 0; i < s->count; i++)
        if (!s->cells[i].finished) s->cells[i].row_count = 0;
    return result;
}
