/* settings.h: what every experiment does with its options beside reading them: it writes down all
 * that a result depends on, and decides how many threads to use.
 */
#ifndef COMMON_SETTINGS_H
#define COMMON_SETTINGS_H

#include <stdbool.h>

#include "common/options.h"

/* Program, version, every option that a result depends on (all but threads, output, resume and
 * quiet) and the machine, as "key = value" lines. The caller frees; NULL without memory. */
char *settings_describe(const options *o);

/* The value of --threads, or where it is not given the number of processors. On bad input prints
 * one line and returns false. */
bool settings_threads(const options *o, int *threads);

#endif
