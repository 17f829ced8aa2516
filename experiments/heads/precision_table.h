/* precision_table.h: the table of what formats lose of dZ, for people: `precision` and `inspect`
 * print the same. */
#ifndef HEADS_PRECISION_TABLE_H
#define HEADS_PRECISION_TABLE_H

#include <stdio.h>

#include "heads/precision.h"

/* The line above; with a column of scales, or without. */
void precision_table_head(FILE *to, bool scales);

/* A line a statistic: errors of one scale (NULL in a table without) and format. Returns whether one
 * of them is infinite. */
bool precision_table_rows(FILE *to, const char *scale, const char *format,
                          double of[PRECISION_PIPELINES][ROUNDING_STATS]);

/* The last line of a table in which one was infinite: what "inf" stands for. */
void precision_table_infinite(FILE *to);

#endif
