/* array_csv.c: spreadsheets write many dialects under the name of CSV. The reader takes one and
 * names the others where it meets them, because guessing could turn 1,5 into two numbers.
 */
#include "heads/array_csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* No double needs more characters than the negative of the smallest ones, -0. and 1074 decimals;
 * strtod reads so many exactly. */
enum { CELL_MOST = 1077, QUOTE_BYTES = 32 };

static const char dialect[] = "expected ',' between numbers and '.' for decimals";

/* A stretch of the text; at is NULL once everything has been cut off it. */
typedef struct span {
    const char *at;
    const char *end;
} span;

typedef struct csv {
    span rest;
    size_t line;          /* of the current row, from 1, as an editor counts */
    size_t row;           /* from 1, comments not counted */
    int digits, decimals; /* of array.h; decimals is -2 before the first number */
    unsigned accept;
    char *error;
    size_t error_size;
} csv;

/* Cuts the part before the next stop, or all that is left, off rest. */
static bool cut(span *rest, char stop, span *piece) {
    if (!rest->at) return false;
    const char *found = memchr(rest->at, stop, (size_t)(rest->end - rest->at));
    *piece = (span){rest->at, found ? found : rest->end};
    rest->at = found ? found + 1 : NULL;
    return true;
}

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static span trim(span s) {
    while (s.at < s.end && blank(*s.at)) s.at++;
    while (s.at < s.end && blank(s.end[-1])) s.end--;
    return s;
}

/* Moves on to the next row; blank lines may only follow the last one. Without a row, *row is empty
 * and the answer true; false is an error. */
static bool next_row(csv *c, span *row) {
    size_t blank_line = 0;
    span line;
    *row = (span){NULL, NULL};
    while (cut(&c->rest, '\n', &line)) {
        c->line++;
        line = trim(line);
        if (line.at < line.end && *line.at == '#') continue;
        if (line.at == line.end) {
            blank_line = c->line;
            continue;
        }
        if (blank_line > 0 && c->row > 0)
            return array_fail(c->error, c->error_size,
                              "line %zu is blank; expected rows without a gap", blank_line);
        c->row++;
        *row = line;
        return true;
    }
    return true;
}

/* Names a semicolon before its row is blamed on the text in a cell or on the number of columns. */
static bool check_dialect(const csv *c, span row) {
    if (!memchr(row.at, ';', (size_t)(row.end - row.at))) return true;
    bool decimal_comma = memchr(row.at, ',', (size_t)(row.end - row.at)) != NULL;
    return array_fail(c->error, c->error_size, "row %zu (line %zu): ';' between numbers%s; %s",
                      c->row, c->line, decimal_comma ? " and decimal commas" : "", dialect);
}

/* Takes note of how a decimal number is written. */
static void note_digits(csv *c, const char *text) {
    const char *point = strchr(text, '.'), *e = strpbrk(text, "eE");
    const char *first = text + strcspn(text, "123456789");
    int digits = 0, decimals = 0;
    for (const char *at = first; *at && at != e; at++) digits += *at != '.';
    if (point) decimals = (int)((e ? e : point + strlen(point)) - point) - 1;
    if (e) decimals = -1;
    if (digits > c->digits) c->digits = digits;
    if (c->decimals == -2) c->decimals = decimals;
    if (c->decimals != decimals) c->decimals = -1;
}

/* Returns NULL and the value, or what is wrong with the text. strtod alone would take hex too. */
static const char *parse_cell(const char *text, unsigned accept, double *value) {
    char *stop;
    const char *word = text + (*text == '-' || *text == '+');
    bool decimal = *text != '\0' && text[strspn(text, "0123456789+-.eE")] == '\0';
    bool nonfinite =
        !strcasecmp(word, "nan") || !strcasecmp(word, "inf") || !strcasecmp(word, "infinity");
    if (nonfinite && !(accept & ARRAY_ALLOW_NONFINITE)) return "attention needs finite numbers";
    if (strpbrk(text, " \t\"'")) return dialect;
    if (!decimal && !nonfinite) return "expected a decimal number";
    *value = strtod(text, &stop);
    if (stop == text || *stop != '\0') return "expected a decimal number";
    return decimal && isinf(*value) ? "expected a number within the range of a double" : NULL;
}

/* Whether the row, whose first cell is no number, goes on with 0, 1, 2, ...: the header that pandas
 * writes above numbers and their index. */
static bool counts_from_second(span row) {
    span cell;
    char number[32];
    size_t column = 0;
    (void)cut(&row, ',', &cell);
    for (; cut(&row, ',', &cell); column++) {
        const int length = snprintf(number, sizeof number, "%zu", column);
        cell = trim(cell);
        if (cell.end - cell.at != length || memcmp(cell.at, number, (size_t)length) != 0)
            return false;
    }
    return column > 0;
}

/* Refuses the cell at a place; a text that is cut to fit the line is given with its length. */
static bool refuse_cell(const csv *c, span cell, size_t column, const char *problem,
                        const char *hint) {
    char quoted[QUOTE_BYTES], whole[48] = "";
    const size_t length = (size_t)(cell.end - cell.at);
    array_quote(quoted, sizeof quoted, cell.at, length);
    if (length >= sizeof quoted) (void)snprintf(whole, sizeof whole, " (%zu characters)", length);
    return array_fail(c->error, c->error_size, "row %zu (line %zu), column %zu: found '%s'%s; %s%s",
                      c->row, c->line, column, quoted, whole, problem, hint);
}

/* Reads the cells of one row from values on and counts them. */
static bool read_row(csv *c, span row, double *values, size_t *columns) {
    const span whole = row;
    span cell;
    *columns = 0;
    while (cut(&row, ',', &cell)) {
        char text[CELL_MOST + 1];
        cell = trim(cell);
        size_t length = (size_t)(cell.end - cell.at);
        const char *problem = "expected a decimal number";
        if (length > CELL_MOST) problem = "expected a number of at most 1077 characters";
        if (length <= CELL_MOST && !memchr(cell.at, '\0', length)) {
            memcpy(text, cell.at, length); /* strtod needs an end */
            text[length] = '\0';
            problem = parse_cell(text, c->accept, &values[*columns]);
            if (!problem && isfinite(values[*columns])) note_digits(c, text);
        }
        ++*columns;
        if (!problem) continue;
        const bool header = c->row == 1 && *columns == 1 && counts_from_second(whole);
        return refuse_cell(c, cell, *columns, problem,
                           header ? " (a header of pandas? " ARRAY_PANDAS ")" : "");
    }
    return true;
}

/* Reads every row into data, which has room for as many numbers as the text has separators. */
static bool read_rows(csv *c, double *data, size_t *columns) {
    span row;
    size_t width;
    *columns = 0;
    while (next_row(c, &row)) {
        if (!row.at) return true;
        if (!check_dialect(c, row)) return false;
        if (!read_row(c, row, data + (c->row - 1) * *columns, &width)) return false;
        if (c->row == 1) *columns = width;
        if (width != *columns)
            return array_fail(c->error, c->error_size,
                              "row %zu (line %zu) has %zu columns, row 1 has %zu; expected rows of "
                              "one length (a decimal comma adds a column)",
                              c->row, c->line, width, *columns);
    }
    return false;
}

size_t array_csv_most(const unsigned char *bytes, size_t length) {
    size_t most = 1;
    for (size_t i = 0; i < length; i++) most += bytes[i] == ',' || bytes[i] == '\n';
    return most;
}

/* Reads the rows into data, which the caller frees; NULL on failure. */
static double *parse(csv *c, const unsigned char *bytes, size_t length, size_t *columns) {
    const char *text = (const char *)bytes;
    const size_t most = array_csv_most(bytes, length);
    c->rest = (span){text, text + length};
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) c->rest.at += 3; /* as Excel writes */
    double *data = calloc(most, sizeof *data);
    if (!data) (void)array_fail(c->error, c->error_size, "no memory for %zu numbers", most);
    if (!data || read_rows(c, data, columns)) return data;
    free(data);
    return NULL;
}

bool array_csv_parse(const unsigned char *bytes, size_t length, unsigned accept, array *out,
                     char *error, size_t error_size) {
    csv c = {.decimals = -2, .accept = accept, .error = error, .error_size = error_size};
    size_t columns;
    *out = (array){0};
    double *data = parse(&c, bytes, length, &columns);
    if (!data) return false;
    if (c.row == 0) {
        free(data);
        return array_fail(error, error_size, "no rows; expected numbers");
    }
    *out = (array){.ndim = 2,
                   .dim = {(ptrdiff_t)c.row, (ptrdiff_t)columns},
                   .data = data,
                   .kind = ARRAY_TEXT,
                   .item_bytes = 8,
                   .digits = c.digits,
                   .decimals = c.decimals};
    return true;
}

bool array_csv_begins(const unsigned char *bytes, size_t length, unsigned accept, char *error,
                      size_t error_size) {
    csv c = {.decimals = -2, .accept = accept, .error = error, .error_size = error_size};
    size_t columns;
    while (length > 0 && bytes[length - 1] != '\n') length--;
    double *data = parse(&c, bytes, length, &columns);
    free(data);
    return data != NULL;
}
