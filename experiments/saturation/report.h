/* report.h: what a saturation run showed: every figure as CSV, a table for people, the
 * measured means held against the exact ones, and sentences computed from the numbers.
 */
#ifndef SATURATION_REPORT_H
#define SATURATION_REPORT_H

#include <stdio.h>

#include "saturation/draw.h"

/* (mean - exact) / standard error of one metric; nan without an exact value, and where the error is
 * not well above the accuracy of the exact values. */
double saturation_z(const saturation_cell *c, int metric);

/* The comparisons of a run, each exact value counted once: the z of entropy / ln n and 1 - max
 * weight are those of entropy and max weight but for the sign. The others differ, but share their
 * rows and, at one d_k, their random numbers under every rule. */
typedef struct comparisons {
    int count;
    int repeats;    /* the other z of the CSV */
    double largest; /* |z| */
    const saturation_cell *cell;
    int metric;
} comparisons;
comparisons saturation_compare(const saturation *s);

/* What the largest of `count` independent |z| exceeds with this probability. Of normal z with any
 * correlations the largest exceeds it at most so often (Sidak 1967). */
double saturation_largest_of(int count, double probability);

/* Long form, a row for each finished cell, metric and statistic. */
void saturation_csv(FILE *to, const saturation *s);

void saturation_table(FILE *to, const saturation *s);
void saturation_findings(FILE *to, const saturation *s);

#endif
