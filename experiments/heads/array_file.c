/* array_file.c: opens a file of numbers, finds out whether it is .npy or CSV, and reads the CSV.
 * Spreadsheets write many dialects under that name: the reader takes one and names the others
 * where it meets them, because guessing could turn 1,5 into two numbers.
 */
#include "heads/array_file.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "heads/npy.h"

enum { CELL_BYTES = 512, QUOTE_BYTES = 32 };

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

/* Reads the cells of one row from values on and counts them. */
static bool read_row(csv *c, span row, double *values, size_t *columns) {
    span cell;
    *columns = 0;
    while (cut(&row, ',', &cell)) {
        char text[CELL_BYTES], quoted[QUOTE_BYTES];
        cell = trim(cell);
        size_t length = (size_t)(cell.end - cell.at);
        const char *problem = "expected a decimal number";
        if (length < sizeof text && !memchr(cell.at, '\0', length)) {
            memcpy(text, cell.at, length); /* strtod needs an end */
            text[length] = '\0';
            problem = parse_cell(text, c->accept, &values[*columns]);
            if (!problem && isfinite(values[*columns])) note_digits(c, text);
        }
        ++*columns;
        if (!problem) continue;
        array_quote(quoted, sizeof quoted, cell.at, length);
        return array_fail(c->error, c->error_size, "row %zu (line %zu), column %zu: found '%s'; %s",
                          c->row, c->line, *columns, quoted, problem);
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

bool array_csv_parse(const unsigned char *bytes, size_t length, unsigned accept, array *out,
                     char *error, size_t error_size) {
    const char *text = (const char *)bytes;
    csv c = {{text, text + length}, 0, 0, 0, -2, accept, error, error_size};
    size_t most = 1, columns;
    *out = (array){0};
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) c.rest.at += 3; /* as Excel writes */
    for (size_t i = 0; i < length; i++) most += text[i] == ',' || text[i] == '\n';
    double *data = calloc(most, sizeof *data);
    if (!data) return array_fail(error, error_size, "no memory for %zu numbers", most);
    bool read = read_rows(&c, data, &columns);
    if (read && c.row == 0) read = array_fail(error, error_size, "no rows; expected numbers");
    if (!read) {
        free(data);
        return false;
    }
    *out = (array){2, {(ptrdiff_t)c.row, (ptrdiff_t)columns}, data, 8, c.digits, c.decimals};
    return true;
}

bool array_file_parse(const unsigned char *bytes, size_t length, unsigned accept, array *out,
                      char *error, size_t error_size) {
    *out = (array){0};
    if (length == 0) return array_fail(error, error_size, "empty; expected a .npy or CSV file");
    if (bytes[0] == 0x93) return npy_parse(bytes, length, accept, out, error, error_size);
    if (length >= 4 && memcmp(bytes, "PK\3\4", 4) == 0)
        return array_fail(error, error_size,
                          "a zip archive (.npz or PyTorch); expected one array from numpy.save");
    for (size_t i = 0; i < length; i++)
        if (bytes[i] < ' ' && !memchr("\t\n\r", bytes[i], 3))
            return array_fail(error, error_size,
                              "neither .npy (no \\x93NUMPY at its start) nor CSV (byte %zu is no "
                              "text); expected one of them",
                              i);
    return array_csv_parse(bytes, length, accept, out, error, error_size);
}

/* Reads all bytes of a regular file; the caller frees them. NULL, with reason set, on failure. */
static unsigned char *load(const char *path, size_t *length, const char **reason) {
    struct stat status;
    *reason = NULL;
    if (stat(path, &status) != 0)
        *reason = strerror(errno);
    else if (S_ISDIR(status.st_mode))
        *reason = "a directory; expected a .npy or CSV file";
    else if (!S_ISREG(status.st_mode)) /* a pipe has no size to check a header against */
        *reason = "not a regular file; expected a .npy or CSV file";
    else if ((uintmax_t)status.st_size >= PTRDIFF_MAX)
        *reason = "too large to be held in memory";
    if (*reason) return NULL;
    *length = (size_t)status.st_size;
    unsigned char *bytes = calloc(1, *length + 1); /* at least one byte, as NULL means failure */
    FILE *file = fopen(path, "rb");
    if (!bytes)
        *reason = "too large to be held in memory";
    else if (!file)
        *reason = strerror(errno);
    else if (fread(bytes, 1, *length, file) != *length)
        *reason = "could not be read to its end";
    if (file) fclose(file);
    if (!*reason) return bytes;
    free(bytes);
    return NULL;
}

bool array_file_read(const char *path, unsigned accept, array *out, char *error,
                     size_t error_size) {
    size_t length;
    const char *reason;
    char found[ARRAY_ERROR_SIZE];
    *out = (array){0};
    unsigned char *bytes = load(path, &length, &reason);
    if (!bytes) return array_fail(error, error_size, "%s: %s", path, reason);
    bool read = array_file_parse(bytes, length, accept, out, found, sizeof found);
    free(bytes);
    return read || array_fail(error, error_size, "%s: %s", path, found);
}
