/* settings.h: what a result depends on, and what is recorded of how it came about. A .meta file
 * holds both, with an empty line between: the settings first, which decide whether two results are
 * the same run, then the record, which is not compared.
 */
#ifndef COMMON_SETTINGS_H
#define COMMON_SETTINGS_H

#include "common/options.h"

/* Raised whenever bits of results change: what was begun under another number is not continued. */
enum { RESULTS_VERSION = 5 };

/* The subcommand and every option that a result depends on (all but threads, output, force, resume,
 * quiet and shard), as "key = value" lines, each value quoted (quote.h). The caller frees; NULL
 * without memory. */
char *settings_describe(const options *o);

/* The program's version and the commit it was built from, "0.2.0, commit 1234"; static. */
const char *settings_version(void);

/* The settings that were given on the command line, as "--batch 4 --fixed-batch", but for those of
 * the list, which ends with NULL: what a figure says of a run beside its axes. In values, a space
 * stands for each comma, so that the text can be a field of a CSV. The caller frees; NULL without
 * memory. */
char *settings_given(const options *o, const char *const *but);

/* Results version, program version, commit, and the machine, as "key = value" lines. */
void settings_record(FILE *to);

/* The value of --threads, or where it is not given the number of processors. On bad input prints
 * one line and returns false. */
bool settings_threads(const options *o, int *threads);

#endif
