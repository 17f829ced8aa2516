/* layer.h: what `sqrtdk inspect` measures of one file of queries and keys, called a layer
 * as several files are layers of a model: the statistics of every head under the scale in use and
 * under every other rule.
 */
#ifndef INSPECT_LAYER_H
#define INSPECT_LAYER_H

#include "heads/head_files.h"
#include "heads/head_stats.h"
#include "inspect/rules.h"

typedef struct inspect_layer {
    const char *name, *path; /* path of Q; borrowed */
    tt_size batch, heads, key_heads, queries, keys, d_k;
    int rules;
    head_stats *stats; /* [batch * heads][rules] */
} inspect_layer;

/* The statistics of head `entry` under a rule. */
const head_stats *inspect_stats(const inspect_layer *l, tt_size entry, int rule);

/* Measures all heads of the files, called `name`, on up to `threads` threads, fewer where there is
 * no memory for as many; neither results nor errors depend on it. weights[entry] is where that
 * head's weights [Tq,Tk] under the rule in use go, zeros at first, or NULL. The caller frees.
 * Returns EXIT_OK; or EXIT_FAILED after one line on standard error, on the first head that is at
 * fault, and there is nothing to free. */
int inspect_layer_measure(const char *name, const head_files *f, const inspect_rules *rules,
                          int threads, double *const *weights, inspect_layer *out);

void inspect_layer_free(inspect_layer *l);

#endif
