/* csv.h: the fields of a CSV. Numbers are written so that they read back as the same double under
 * any locale; csv_number, csv_known and csv_text write a comma and then their field.
 */
#ifndef COMMON_CSV_H
#define COMMON_CSV_H

#include <stdbool.h>
#include <stdio.h>

enum { NUMBER_BYTES = 32 };

/* The shortest of %.15g, %.16g and %.17g that reads back as x, with '.' whatever the locale; nan
 * and inf as "nan", "inf", "-inf". Returns buffer. */
const char *csv_format(char buffer[NUMBER_BYTES], double x);

void csv_number(FILE *to, double x);

/* A number, or nothing for nan: what is not known. */
void csv_known(FILE *to, double x);

/* Reads a number and the comma behind it, or up to the end of the line or text, before which *at
 * then stays; false where there is none. */
bool csv_read(const char **at, double *out);

/* Any text, quoted where it must be (RFC 4180). */
void csv_text(FILE *to, const char *text);

#endif
