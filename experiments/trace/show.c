#include "trace/show.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"

enum {
    CELL_BYTES = 48, /* -1.<17 digits>e-308 and more */
    GAP = 2,         /* spaces before a cell */
    BETWEEN = 4,     /* between two matrices */
    TABLE_CELL = 19,
    COLUMNS_MOST = 16 /* in blocks where a line holds fewer */
};

/* How a matrix is laid out: what of it is shown, and how wide a cell is. */
typedef struct layout {
    tt_size rows, cols;
    int cell;
    bool scientific;
} layout;

bool show_can_highlight(void) {
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_color && no_color[0]) &&
           !(term && strcmp(term, "dumb") == 0);
}

static bool hidden(const shown *a, tt_size i, tt_size j) {
    return a->mask && !tt_mask_allows(a->mask, 0, i, j, a->m.rows, a->m.cols);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static bool looks_like_zero(const char *text) {
    return text[strspn(text, "-0.")] == '\0';
}

static void cell_text(char out[CELL_BYTES], const show *s, const shown *a, bool scientific,
                      tt_size i, tt_size j) {
    double x = a->m.data[i * a->m.cols + j] + 0.0; /* no -0 */
    if (hidden(a, i, j)) {
        (void)snprintf(out, CELL_BYTES, "-");
        return;
    }
    (void)snprintf(out, CELL_BYTES, scientific ? "%.*e" : "%.*f", s->digits, x);
    if (x != 0 && looks_like_zero(out)) (void)snprintf(out, CELL_BYTES, "%.1e", x);
}

/* The columns that fit into `room` characters, one at least, with cells as wide as the widest that
 * is shown. */
static layout lay_out(const show *s, const shown *a, int room) {
    const tt_size most = room / GAP > COLUMNS_MOST ? room / GAP : COLUMNS_MOST;
    layout l = {.rows = a->m.rows < SHOW_ROWS_MOST ? a->m.rows : SHOW_ROWS_MOST,
                .cols = a->m.cols < most ? a->m.cols : most};
    double largest = 0;
    char text[CELL_BYTES];
    for (tt_size i = 0; i < a->m.rows; i++)
        for (tt_size j = 0; j < a->m.cols; j++)
            if (!hidden(a, i, j)) largest = fmax(largest, fabs(a->m.data[i * a->m.cols + j]));
    l.scientific = largest > 0 && (largest < 1e-3 || largest >= 1e6);
    for (tt_size i = 0; i < l.rows; i++)
        for (tt_size j = 0; j < l.cols; j++) {
            cell_text(text, s, a, l.scientific, i, j);
            int width = (int)strlen(text) + GAP;
            if (width > l.cell) l.cell = width;
        }
    if (l.cell > 0 && l.cols * l.cell > room) l.cols = room > l.cell ? room / l.cell : 1;
    return l;
}

/* The column of the row's largest entry, the first of several; -1 if all are hidden. */
static tt_size largest_of_row(const shown *a, tt_size i) {
    tt_size m = -1;
    for (tt_size j = 0; j < a->m.cols; j++) {
        if (hidden(a, i, j)) continue;
        if (m < 0 || a->m.data[i * a->m.cols + j] > a->m.data[i * a->m.cols + m]) m = j;
    }
    return m;
}

/* Columns first to last - 1 of one row, right-aligned cells; returns the width that a reader sees.
 */
static int print_row(const show *s, const shown *a, const layout *l, tt_size i, tt_size first,
                     tt_size last) {
    tt_size marked = s->highlight && a->mark ? largest_of_row(a, i) : -1;
    char text[CELL_BYTES];
    for (tt_size j = first; j < last; j++) {
        cell_text(text, s, a, l->scientific, i, j);
        (void)fprintf(s->to, "%*s%s%s%s", l->cell - (int)strlen(text), "",
                      j == marked ? "\033[7m" : "", text, j == marked ? "\033[0m" : "");
    }
    return l->cell * (int)(last - first);
}

/* ---- Matrices -------------------------------------------------------------------------------- */

static int print_title(const show *s, const shown *a) {
    const char *bold = s->markdown ? "**" : "";
    return fprintf(s->to, "%s%s%s [%td,%td]", bold, a->title, bold, a->m.rows, a->m.cols);
}

static int title_width(const shown *a) {
    return snprintf(NULL, 0, "%s [%td,%td]", a->title, a->m.rows, a->m.cols);
}

static void print_elided(const show *s, const shown *a, const layout *l) {
    if (l->cols == a->m.cols && l->rows == a->m.rows) return;
    (void)fprintf(s->to, "%s(shown: the first %td of %td rows, %td of %td columns)\n",
                  s->markdown ? "\n" : "  ", l->rows, a->m.rows, l->cols, a->m.cols);
}

static void print_text(const show *s, const shown *a) {
    layout l = lay_out(s, a, text_width());
    const tt_size fit = l.cols;
    if (a->m.cols <= COLUMNS_MOST) l.cols = a->m.cols;
    for (tt_size first = 0; first < l.cols; first += fit) {
        const tt_size last = first + fit < l.cols ? first + fit : l.cols;
        (void)print_title(s, a);
        if (fit < l.cols) (void)fprintf(s->to, ", columns %td to %td", first + 1, last);
        (void)fputc('\n', s->to);
        for (tt_size i = 0; i < l.rows; i++) {
            (void)print_row(s, a, &l, i, first, last);
            (void)fputc('\n', s->to);
        }
    }
    print_elided(s, a, &l);
}

static void print_markdown(const show *s, const shown *a) {
    layout l = lay_out(s, a, COLUMNS_MOST * CELL_BYTES);
    if (l.cols > COLUMNS_MOST) l.cols = COLUMNS_MOST;
    char text[CELL_BYTES];
    (void)print_title(s, a);
    (void)fputs("\n\n|", s->to);
    for (tt_size j = 0; j < l.cols; j++) (void)fprintf(s->to, " %td |", j);
    (void)fputs("\n|", s->to);
    for (tt_size j = 0; j < l.cols; j++) (void)fputs("---:|", s->to);
    for (tt_size i = 0; i < l.rows; i++) {
        (void)fputs("\n|", s->to);
        for (tt_size j = 0; j < l.cols; j++) {
            cell_text(text, s, a, l.scientific, i, j);
            (void)fprintf(s->to, " %s |", text);
        }
    }
    (void)fputc('\n', s->to);
    print_elided(s, a, &l);
}

void show_matrix(const show *s, const shown *a) {
    if (s->markdown)
        print_markdown(s, a);
    else
        print_text(s, a);
    show_gap(s);
}

static int half(void) {
    return (text_width() - BETWEEN) / 2;
}

/* Fills up to where the right matrix starts. */
static void print_to_right(const show *s, int width) {
    for (; width < half() + BETWEEN; width++) (void)fputc(' ', s->to);
}

void show_pair(const show *s, const shown *a, const shown *b) {
    layout l = lay_out(s, a, half()), r = lay_out(s, b, half());
    if (s->markdown || l.cols < a->m.cols || r.cols < b->m.cols || title_width(a) > half() ||
        title_width(b) > half()) {
        show_matrix(s, a);
        show_matrix(s, b);
        return;
    }
    print_to_right(s, print_title(s, a));
    (void)print_title(s, b);
    (void)fputc('\n', s->to);
    for (tt_size i = 0; i < l.rows || i < r.rows; i++) {
        int width = i < l.rows ? print_row(s, a, &l, i, 0, l.cols) : 0;
        if (i < r.rows) {
            print_to_right(s, width);
            (void)print_row(s, b, &r, i, 0, r.cols);
        }
        (void)fputc('\n', s->to);
    }
    print_elided(s, a, &l);
    show_gap(s);
}

/* ---- Text and tables ------------------------------------------------------------------------- */

void show_heading(const show *s, const char *text) {
    show_line(s, "%s%s\n", s->markdown ? "## " : "", text);
}

void show_line(const show *s, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (s->markdown)
        (void)fprintf(s->to, "%s\n", text);
    else
        text_line(s->to, 0, "%s", text);
}

void show_table_head(const show *s, const char *label, const char *a, const char *b) {
    show_table_row(s, label, a, b);
    if (s->markdown) (void)fprintf(s->to, "|---|---:|%s\n", b ? "---:|" : "");
}

void show_table_row(const show *s, const char *label, const char *a, const char *b) {
    const int room = text_width() - (b ? 2 : 1) * (TABLE_CELL + 1);
    if (s->markdown) {
        (void)fprintf(s->to, "| %s | %s |", label, a);
        if (b) (void)fprintf(s->to, " %s |", b);
        (void)fputc('\n', s->to);
        return;
    }
    const bool fits = (int)strlen(label) <= room;
    if (!fits) text_line(s->to, 2, "%s", label);
    (void)fprintf(s->to, "%-*s %*s", room > 0 ? room : 0, fits ? label : "", TABLE_CELL, a);
    if (b) (void)fprintf(s->to, " %*s", TABLE_CELL, b);
    (void)fputc('\n', s->to);
}

void show_gap(const show *s) {
    (void)fputc('\n', s->to);
}
