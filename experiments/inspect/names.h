/* names.h: what the layers of `sqrtdk inspect` are called in its tables, CSVs and figures. */
#ifndef INSPECT_NAMES_H
#define INSPECT_NAMES_H

#include "common/options.h"

typedef struct layer_names {
    char *text; /* owns them */
    const char *name[LIST_MOST];
} layer_names;

/* The numbers of --layers; or without it each file's name without folder and ending, in which "_"
 * stands for what a CSV or a figure would read otherwise. False after one line on standard error if
 * there are not as many as files, or if two are alike. The caller frees in any case. */
bool layer_names_read(const options *o, const char *const *paths, int count, layer_names *out);

void layer_names_free(layer_names *names);

#endif
