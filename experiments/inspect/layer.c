#include "inspect/layer.h"

#include <stdlib.h>

#include "common/message.h"
#include "tt/attention.h"

void inspect_rules_set(inspect_rules *r, const scaling *used) {
    *r = (inspect_rules){.count = 0};
    if (scaling_find(used->name) != used) r->rule[r->count++] = used;
    for (int i = 0; scaling_at(i) && r->count < INSPECT_RULES_MOST; i++) {
        if (scaling_at(i) == used) r->used = r->count;
        r->rule[r->count++] = scaling_at(i);
    }
}

const head_stats *inspect_stats(const inspect_layer *l, tt_size entry, int rule) {
    return &l->stats[entry * l->rules + rule];
}

/* One head under one rule. The values play no part in the weights, so none are given. */
static int measure(tt_tape *tape, const head_files *f, const attention_head *head,
                   const scaling *rule, tt_tensor *weights, head_stats *out) {
    tt_size i, j;
    tt_tape_reset(tape);
    tt_var o = tt_attention(
        tape, tt_const(tape, head->q), tt_const(tape, head->k),
        tt_const(tape, tt_tensor_view(head->k.data, 1, head->k.rows, 0)),
        (tt_attention_options){.rule = &rule->rule, .mask = head->mask, .rows = TT_ATTENTION_ALL});
    if (tt_tape_error(tape)) return message_fail(EXIT_FAILED, "%s", tt_tape_error(tape));
    tt_tensor logits = tt_attention_logits(tape, o);
    *weights = tt_attention_weights(tape, o);
    if (!head_logits_finite(head, logits, &i, &j))
        return message_fail(EXIT_FAILED,
                            "%s, %s: the logit of query %td and key %td (scale %s) is beyond the "
                            "range of a double; expected smaller numbers",
                            f->paths.q, f->paths.k, i, j, rule->name);
    if (head_stats_compute(&head->mask, logits, *weights, out)) return EXIT_OK;
    return message_fail(EXIT_FAILED, "out of memory");
}

static int measure_heads(tt_tape *tape, const head_files *f, const inspect_rules *rules,
                         inspect_take *take, void *context, inspect_layer *l) {
    for (tt_size e = 0; e < f->batch * f->heads; e++) {
        attention_head head = head_files_at(f, e);
        for (int r = 0; r < rules->count; r++) {
            tt_tensor weights = {0, 0, 0, NULL};
            int code =
                measure(tape, f, &head, rules->rule[r], &weights, &l->stats[e * rules->count + r]);
            if (code != EXIT_OK) return code;
            if (r == rules->used && !take(context, f, e, &head, weights)) return EXIT_FAILED;
        }
    }
    return EXIT_OK;
}

int inspect_layer_measure(const head_files *f, const inspect_rules *rules, inspect_take *take,
                          void *context, inspect_layer *out) {
    *out = (inspect_layer){f->paths.q, f->batch, f->heads,     f->key_heads, f->queries,
                           f->keys,    f->d_k,   rules->count, NULL};
    tt_tape *tape = tt_tape_new();
    out->stats = calloc((size_t)(f->batch * f->heads), (size_t)rules->count * sizeof *out->stats);
    int code = tape && out->stats ? measure_heads(tape, f, rules, take, context, out)
                                  : message_fail(EXIT_FAILED, "out of memory");
    tt_tape_free(tape);
    if (code != EXIT_OK) inspect_layer_free(out);
    return code;
}

void inspect_layer_free(inspect_layer *l) {
    free(l->stats);
    l->stats = NULL;
}
