/* array_csv.h: matrices of numbers in CSV text. */
#ifndef HEADS_ARRAY_CSV_H
#define HEADS_ARRAY_CSV_H

#include "heads/array.h"

/* Reads CSV text: ',' between numbers, '.' for decimals, rows of one length, LF or CRLF, lines that
 * start with '#' and blank lines at the end skipped; gives shape [rows, columns] and item_bytes 8.
 * nan and inf pass only with ARRAY_ALLOW_NONFINITE; hexadecimal and overflowing numbers never do,
 * nor what is longer than the exact decimals of any double. Errors as for npy_parse. Must run in
 * the C locale, as strtod reads the decimal point. */
bool array_csv_parse(const unsigned char *bytes, size_t length, unsigned accept, array *out,
                     char *error, size_t error_size);

/* Whether bytes[0..length), the first of a longer text, can begin a CSV: their whole rows are read
 * as above, and nothing is kept. */
bool array_csv_begins(const unsigned char *bytes, size_t length, unsigned accept, char *error,
                      size_t error_size);

/* How many numbers the text has at most: its separators and one. */
size_t array_csv_most(const unsigned char *bytes, size_t length);

#endif
