#include "heads/head_gradients.h"

#include "common/message.h"
#include "tt/attention.h"
#include "tt/rng.h"

const char *head_gradient_name(int which) {
    static const char *const NAMES[] = {"dQ", "dK", "dV"};
    return NAMES[which];
}

const array *head_gradient_shape(const head_files *f, int which) {
    const array *const shape[] = {&f->q, &f->k, &f->v};
    return shape[which];
}

/* The tape adds each head's gradients to its matrices. NULL, or what failed. */
static const char *add_head(tt_tape *tape, const head_gradients *g, const head_files *f,
                            const tt_scale_rule *rule, tt_tensor d_out, tt_size entry,
                            const head_visitor *visitor) {
    const attention_head head = head_files_at(f, entry);
    const tt_size key_entry = head_files_key_entry(f, entry);
    tt_tape_reset(tape);
    tt_var q = tt_param(tape, head.q, tt_tensor_matrix(g->of[HEAD_DQ], entry));
    tt_var k = tt_param(tape, head.k, tt_tensor_matrix(g->of[HEAD_DK], key_entry));
    tt_var v = tt_param(tape, head.v, tt_tensor_matrix(g->of[HEAD_DV], key_entry));
    tt_attention_options how = {
        .rule = rule, .mask = head.mask, .rows = visitor ? TT_ATTENTION_ALL : 0};
    tt_var output = tt_attention(tape, q, k, v, how);
    tt_backward_from(tape, output, tt_tensor_matrix(d_out, entry));
    if (tt_tape_error(tape) || !visitor) return tt_tape_error(tape);
    return visitor->visit(visitor->context, tape, output, &head, entry) ? NULL : "out of memory";
}

bool head_gradients_compute(head_gradients *g, const head_files *f, const tt_scale_rule *rule,
                            tt_tensor d_out, const head_visitor *visitor) {
    const tt_size heads = f->batch * f->heads, key_heads = f->batch * f->key_heads;
    g->of[HEAD_DQ] = tt_tensor_new(heads, f->queries, f->d_k);
    g->of[HEAD_DK] = tt_tensor_new(key_heads, f->keys, f->d_k);
    g->of[HEAD_DV] = tt_tensor_new(key_heads, f->keys, f->d_v);
    tt_tape *tape = tt_tape_new();
    const char *error = tape && g->of[HEAD_DQ].data && g->of[HEAD_DK].data && g->of[HEAD_DV].data
                            ? NULL
                            : "out of memory";
    for (tt_size e = 0; !error && e < heads; e++)
        error = add_head(tape, g, f, rule, d_out, e, visitor);
    if (error) (void)complain("%s", error);
    tt_tape_free(tape);
    return !error;
}

void head_gradients_free(head_gradients *g) {
    for (int i = 0; i < HEAD_GRADIENTS; i++) tt_tensor_free(&g->of[i]);
}

tt_tensor head_gradients_draw(const head_files *f, uint64_t seed) {
    tt_tensor d_out = tt_tensor_new(f->batch * f->heads, f->queries, f->d_v);
    tt_rng rng;
    tt_rng_seed(&rng, seed);
    if (d_out.data) tt_rng_normal(&rng, d_out.data, tt_tensor_count(d_out));
    return d_out;
}
