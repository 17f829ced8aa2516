/* show.h: matrices and small tables for people to read: aligned text as wide as text_width()
 * allows, or Markdown. Up to 16 columns follow in blocks where a line does not hold them; of larger
 * matrices what does not fit is left out with a note.
 */
#ifndef TRACE_SHOW_H
#define TRACE_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "common/message.h"
#include "tt/mask.h"

enum { SHOW_ROWS_MOST = 16 };

typedef struct show {
    FILE *to;
    bool markdown;
    int digits;     /* after the point; significant digits in tables */
    bool highlight; /* mark the largest of a row; only a terminal can show it */
} show;

/* A matrix to be shown. Entries that the mask hides are shown as "-". */
typedef struct shown {
    const char *title;
    tt_tensor m;         /* [1,rows,cols] */
    const tt_mask *mask; /* of the matrix's own sizes; NULL: nothing is hidden */
    bool mark;           /* highlight the largest entry of each row */
} shown;

/* Whether standard output is a terminal that may be highlighted: NO_COLOR unset or empty, TERM not
 * "dumb". */
bool show_can_highlight(void);

void show_heading(const show *s, const char *text);

/* A paragraph that stands by itself, wrapped in text; format as for printf. */
void show_line(const show *s, const char *format, ...) PRINTF_LIKE(2, 3);

/* Title, shape and values. Fixed point, or scientific where that would show no digits (all entries
 * below 1e-3) or too many (1e6 and more); an entry that fixed point would show as 0 but is not 0 is
 * scientific by itself. */
void show_matrix(const show *s, const shown *a);

/* Two matrices side by side where both fit, else one under the other. */
void show_pair(const show *s, const shown *a, const shown *b);

/* A table: a head and then rows of a label and one or two cells (b NULL: one). A label that is too
 * wide has a line of its own. */
void show_table_head(const show *s, const char *label, const char *a, const char *b);
void show_table_row(const show *s, const char *label, const char *a, const char *b);

/* An empty line, which also ends a table. */
void show_gap(const show *s);

#endif
