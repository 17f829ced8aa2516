/* stats.h: the few statistics that the logs quote, defined once so that they mean the same in every
 * file.
 */
#ifndef COMMON_STATS_H
#define COMMON_STATS_H

#include <stdbool.h>

#include "tt/tensor.h"

/* Arithmetic mean; 0 for n = 0. */
double stats_mean(const double *x, tt_size n);

/* Population standard deviation (divides by n), in two passes. */
double stats_deviation(const double *x, tt_size n);

/* <x, y> / (|x| |y|); 0 where one of them is 0. */
double stats_cosine(const double *x, const double *y, tt_size n);

/* Sorts x ascending; x holds no NaN. */
void stats_sort(double *x, tt_size n);

/* The median of x, which it sorts; nan where n is 0. */
double stats_median(double *x, tt_size n);

/* Quantile p in [0, 1] of sorted x, n >= 1, linear between order statistics: position p (n - 1),
 * the rule 7 of Hyndman and Fan (1996) and the default of numpy. */
double stats_quantile(const double *sorted, tt_size n, double p);

/* Whether all of x is finite. */
bool stats_finite(const double *x, tt_size n);

#endif
