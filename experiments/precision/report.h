/* report.h: what `precision` writes and says: the CSV, a table and sentences. */
#ifndef PRECISION_REPORT_H
#define PRECISION_REPORT_H

#include <stdio.h>

#include "precision/measure.h"

/* A row for each cell and pipeline. */
void report_csv(FILE *to, const rounding *r);

/* The widest d_k alone, medians over seeds. */
void report_table(FILE *to, const rounding *r);

/* For each format, at the widest d_k and the rule that the median row loses most under, what the
 * typical row loses and what the whole gradient does. */
void report_findings(FILE *to, const rounding *r);

#endif
