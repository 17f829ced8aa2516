/* expectation.c: a row is idle where the mask alone makes it 0: a query that sees at most one key
 * gets no gradient through its softmax, nor does a key from such queries; a key that no query sees
 * has no part in the output.
 */
#include "gradcheck/expectation.h"

#include <stdlib.h>
#include <string.h>

typedef struct visit {
    expectation *to;
    const head_files *files;
    const tt_scale_rule *rule;
    const precision *precision;
} visit;

static void mark_busy(const visit *v, const attention_head *h, tt_size entry) {
    const tt_size queries = h->q.rows, keys = h->k.rows;
    const tt_size key_entry = head_files_key_entry(v->files, entry);
    unsigned char *const *idle = v->to->idle;
    for (tt_size i = 0; i < queries; i++) {
        tt_size visible = 0;
        for (tt_size j = 0; j < keys; j++)
            visible += tt_mask_allows(&h->mask, 0, i, j, queries, keys);
        if (visible > 1) idle[HEAD_DQ][entry * queries + i] = 0;
        for (tt_size j = 0; j < keys; j++) {
            if (!tt_mask_allows(&h->mask, 0, i, j, queries, keys)) continue;
            if (visible > 1) idle[HEAD_DK][key_entry * keys + j] = 0;
            idle[HEAD_DV][key_entry * keys + j] = 0;
        }
    }
}

static bool add_bounds(void *context, const tt_tape *tape, tt_var output,
                       const attention_head *head, tt_size entry) {
    const visit *v = context;
    const tt_size key_entry = head_files_key_entry(v->files, entry);
    const bound_head h = {.q = head->q,
                          .k = head->k,
                          .v = head->v,
                          .d_out = head->d_out,
                          .logits = tt_attention_logits(tape, output),
                          .weights = tt_attention_weights(tape, output),
                          .d_logits = tt_attention_logits_grad(tape, output),
                          .out = tt_value(tape, output),
                          .mask = &head->mask,
                          .rule = v->rule};
    mark_busy(v, head, entry);
    return bounds_add(&h, v->precision, tt_tensor_matrix(v->to->bound[HEAD_DQ], entry),
                      tt_tensor_matrix(v->to->bound[HEAD_DK], key_entry),
                      tt_tensor_matrix(v->to->bound[HEAD_DV], key_entry));
}

bool expectation_new(expectation *e, const head_files *f, const tt_scale_rule *rule,
                     const precision *p) {
    const tt_size heads = f->batch * f->heads, key_heads = f->batch * f->key_heads;
    const tt_size count[] = {heads, key_heads, key_heads}, rows[] = {f->queries, f->keys, f->keys};
    const tt_size cols[] = {f->d_k, f->d_k, f->d_v};
    *e = (expectation){.multiple = format_multiple(p->format)};
    const visit context = {e, f, rule, p};
    bool good = true;
    for (int i = 0; i < HEAD_GRADIENTS; i++) {
        e->bound[i] = tt_tensor_new(count[i], rows[i], cols[i]);
        e->idle[i] = malloc((size_t)(count[i] * rows[i]));
        good = good && e->bound[i].data && e->idle[i];
        if (e->idle[i]) memset(e->idle[i], 1, (size_t)(count[i] * rows[i]));
    }
    if (!good) return complain("gradcheck: out of memory");
    const head_visitor visitor = {add_bounds, (void *)&context};
    return head_gradients_compute(
        &e->ours, f, rule, tt_tensor_view(f->d_out.data, heads, f->queries, f->d_v), &visitor);
}

void expectation_free(expectation *e) {
    head_gradients_free(&e->ours);
    for (int i = 0; i < HEAD_GRADIENTS; i++) {
        tt_tensor_free(&e->bound[i]);
        free(e->idle[i]);
    }
}
