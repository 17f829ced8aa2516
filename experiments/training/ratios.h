/* ratios.h: what a verdict needs of a run's curve of loss / loss_uniform: medians of 20 steps, the
 * newest and those around the middle.
 */
#ifndef TRAINING_RATIOS_H
#define TRAINING_RATIOS_H

#include "tt/tensor.h"

enum { RATIO_SPAN = 20 };

/* Start with zeros. */
typedef struct ratios {
    double last[RATIO_SPAN];   /* the newest at (steps - 1) % RATIO_SPAN */
    double middle[RATIO_SPAN]; /* those around the middle */
    tt_size steps, middle_count;
} ratios;

/* Adds that of the next step, of so many that the run is to take. */
void ratios_add(ratios *r, tt_size asked, double ratio);

/* The median of the last 20 steps, of a shorter run of all; nan without any. */
double ratios_last(const ratios *r);

/* The same of the 20 steps around the middle of those asked for, as far as they were taken. */
double ratios_middle(const ratios *r);

#endif
