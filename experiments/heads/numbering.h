/* numbering.h: pandas writes a row that numbers the columns and a column that numbers the rows,
 * unless it is told not to. In a CSV both look like numbers of a matrix; what gives them away is
 * that they count from 0 and that the file has one row or column more than the others.
 */
#ifndef HEADS_NUMBERING_H
#define HEADS_NUMBERING_H

#include "heads/array.h"

/* So many numbers that count are a sign, or more than a sign. */
enum { NUMBERING_SIGN = 2, NUMBERING_SURE = 3 };

/* Whether a is a CSV whose first row (column) is 0, 1, 2, ..., `least` numbers or more. */
bool numbering_row(const array *a, ptrdiff_t least);
bool numbering_column(const array *a, ptrdiff_t least);

enum { NUMBERING_HINT = 160 };

/* What a message adds where a is to have as many rows (or columns) as b: "" unless one of them has
 * one more and its first counts. Returns buffer. */
const char *numbering_hint(char buffer[NUMBERING_HINT], const array *a, const array *b, bool rows);

/* Prints one line if some of the files, whose shapes agree, may be numbered for all that. Two
 * numbers, 0 and 1, are no sign unless the first two files both have them. */
void numbering_warn(const char *const *paths, const array *const *arrays, int count);

#endif
