/* steps.h: one head of attention, step by step, as the lessons teach it. */
#ifndef TRACE_STEPS_H
#define TRACE_STEPS_H

#include "trace/matrices.h"
#include "trace/show.h"

typedef struct trace_settings {
    show show;
    const scaling *rule; /* shown beside "none", unless it is that */
    bool backward;
} trace_settings;

/* Prints Q, K, V -> S = Q K^T -> logits Z -> E = exp(Z - max), its rows' sums -> weights P ->
 * output O, with the rule and without a scale; how sharp the rows are; for backward, dO -> dV, dP
 * -> dZ -> dS -> dQ, dK, with dO = 1 everywhere where the head has none; and the checks that a
 * lesson asks for. Returns EXIT_OK, or EXIT_FAILED after one line on standard error. sharp[0] (with
 * the rule) and sharp[1] (without) are set, if sharp is not NULL. */
int trace_steps(const trace_settings *settings, const attention_head *head, head_stats sharp[2]);

#endif
