/* matrices.h: one head of attention, every matrix on its way, under a rule and without a scale:
 * Q, K, V -> S = Q K^T -> logits Z -> E = exp(Z - max), its rows' sums -> weights P -> output O,
 * and back dO -> dV, dP -> dZ -> dS -> dQ, dK.
 */
#ifndef TRACE_MATRICES_H
#define TRACE_MATRICES_H

#include <stdbool.h>

#include "common/scaling.h"
#include "heads/head_files.h"
#include "heads/head_stats.h"
#include "tt/tape.h"

/* Those that a scale changes. */
enum { Z, E, SUMS, P, O, DZ, DS, DQ, DK, DV, MATRICES };

/* The same head with one scale; what is not computed has no data: the way back where it was not
 * asked for, DS of a rule that divides by norms. */
typedef struct trace_side {
    const scaling *rule;
    tt_tape *tape;
    tt_tensor m[MATRICES];
    head_stats sharp;
} trace_side;

typedef struct trace_head {
    const attention_head *head;
    trace_side side[2]; /* under the rule, and without a scale unless that is the rule */
    int sides;
    bool backward;
    tt_tape *tape; /* what both sides share */
    tt_tensor scores, d_out, d_weights;
} trace_head;

/* All of it; the head is borrowed, and dO is 1 everywhere where it has none. NULL, or what failed.
 * Free with trace_free in either case. */
const char *trace_compute(trace_head *t, const attention_head *head, const scaling *rule,
                          bool backward);
void trace_free(trace_head *t);

/* How many keys query i sees. */
tt_size trace_visible_keys(const attention_head *head, tt_size i);

/* What is said above step i of the way, from 0 on, of a rule that divides by norms or not; NULL
 * from their count up. */
const char *trace_heading(int step, bool norms);

#endif
