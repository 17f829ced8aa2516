/* csv.h: the fields of a CSV. Numbers are written so that they read back as the same double under
 * any locale; each function but the first writes a comma and then its field.
 */
#ifndef COMMON_CSV_H
#define COMMON_CSV_H

#include <stdio.h>

enum { NUMBER_BYTES = 32 };

/* The shortest of %.15g, %.16g and %.17g that reads back as x, with '.' whatever the locale; nan
 * and inf as "nan", "inf", "-inf". Returns buffer. */
const char *csv_format(char buffer[NUMBER_BYTES], double x);

void csv_number(FILE *to, double x);

/* A number, or nothing for nan: what is not known. */
void csv_known(FILE *to, double x);

/* Any text, quoted where it must be (RFC 4180). */
void csv_text(FILE *to, const char *text);

#endif
