/* layer.h: what `sqrtdk inspect` measures of one file of queries and keys, called a layer
 * as several files are a model's layers in order: the statistics of every head under the scale in
 * use and under every other rule.
 */
#ifndef INSPECT_LAYER_H
#define INSPECT_LAYER_H

#include "common/scaling.h"
#include "heads/head_files.h"
#include "heads/head_stats.h"

enum { INSPECT_RULES_MOST = 16 };

/* The rules in the order of their table; a number that is in use comes first. */
typedef struct inspect_rules {
    const scaling *rule[INSPECT_RULES_MOST];
    int count, used; /* rule[used] is the one in use */
} inspect_rules;

void inspect_rules_set(inspect_rules *r, const scaling *used);

typedef struct inspect_layer {
    const char *path; /* of Q, borrowed */
    tt_size batch, heads, key_heads, queries, keys, d_k;
    int rules;
    head_stats *stats; /* [batch * heads][rules] */
} inspect_layer;

/* The statistics of head `entry` under a rule. */
const head_stats *inspect_stats(const inspect_layer *l, tt_size entry, int rule);

/* Given a head's weights [1,Tq,Tk] under the rule in use, borrowed during the call; false stops. */
typedef bool inspect_take(void *context, const head_files *f, tt_size entry,
                          const attention_head *head, tt_tensor weights);

/* Measures all heads of the files; the caller frees. Returns EXIT_OK; or EXIT_FAILED after one line
 * on standard error, or when `take` said so, and there is nothing to free. */
int inspect_layer_measure(const head_files *f, const inspect_rules *rules, inspect_take *take,
                          void *context, inspect_layer *out);

void inspect_layer_free(inspect_layer *l);

#endif
