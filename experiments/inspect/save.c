/* save.c: see inspect_save.h. */
#include "inspect/save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/output.h"
#include "common/stats.h"
#include "tt/attention.h"
#include "tt/rng.h"

static bool fail(const char *problem) {
    (void)message_fail(0, "%s", problem);
    return false;
}

static bool write_array(const char *path, int ndim, const ptrdiff_t *dim, const double *data) {
    char error[ARRAY_ERROR_SIZE];
    return npy_write(path, ndim, dim, data, error, sizeof error) || fail(error);
}

/* The shape of Q with another last dimension. */
static void shape_like_q(const attention_files *f, tt_size last, ptrdiff_t dim[ARRAY_MAX_DIMS]) {
    memcpy(dim, f->q.dim, sizeof f->q.dim);
    dim[f->q.ndim - 1] = last;
}

/* ---- Weights --------------------------------------------------------------------------------- */

bool saved_weights_take(saved_weights *w, const attention_files *f, tt_size entry,
                        tt_tensor weights) {
    tt_size count = f->queries * f->keys;
    if (!w->data) w->data = tt_tensor_new(f->batch * f->heads, f->queries, f->keys).data;
    if (!w->data) return fail("--save-weights: out of memory");
    memcpy(w->data + entry * count, weights.data, (size_t)count * sizeof *w->data);
    return true;
}

bool saved_weights_write(const saved_weights *w, const attention_files *f, const char *path) {
    ptrdiff_t dim[ARRAY_MAX_DIMS];
    shape_like_q(f, f->keys, dim);
    if (output_make_folders(path)) return write_array(path, f->q.ndim, dim, w->data);
    (void)message_fail(0, "cannot write %s: %s", path, strerror(errno));
    return false;
}

void saved_weights_free(saved_weights *w) {
    free(w->data);
    w->data = NULL;
}

/* ---- Gradients ------------------------------------------------------------------------------- */

typedef struct gradients {
    tt_tensor d_out, d_q, d_k, d_v; /* one matrix for each head, of Q or of K */
    bool drawn;                     /* d_out is random */
} gradients;

static void gradients_free(gradients *g) {
    tt_tensor_free(&g->d_out);
    tt_tensor_free(&g->d_q);
    tt_tensor_free(&g->d_k);
    tt_tensor_free(&g->d_v);
}

static bool gradients_new(gradients *g, const attention_files *f, uint64_t seed) {
    tt_size heads = f->batch * f->heads, key_heads = f->batch * f->key_heads;
    *g = (gradients){tt_tensor_new(heads, f->queries, f->d_v),
                     tt_tensor_new(heads, f->queries, f->d_k),
                     tt_tensor_new(key_heads, f->keys, f->d_k),
                     tt_tensor_new(key_heads, f->keys, f->d_v), !f->d_out.data};
    if (!g->d_out.data || !g->d_q.data || !g->d_k.data || !g->d_v.data) return false;
    if (g->drawn) {
        tt_rng rng;
        tt_rng_seed(&rng, seed);
        tt_rng_normal(&rng, g->d_out.data, tt_tensor_count(g->d_out));
    } else {
        memcpy(g->d_out.data, f->d_out.data, (size_t)tt_tensor_count(g->d_out) * sizeof(double));
    }
    return true;
}

/* Adds one head's gradients to the places of its queries and of its keys. */
static void add_head(tt_tape *tape, gradients *g, const attention_files *f,
                     const tt_scale_rule *rule, tt_size entry) {
    attention_head head = attention_files_head(f, entry);
    tt_size key_entry = attention_files_key_entry(f, entry);
    tt_tape_reset(tape);
    tt_var q = tt_param(tape, head.q, tt_tensor_matrix(g->d_q, entry));
    tt_var k = tt_param(tape, head.k, tt_tensor_matrix(g->d_k, key_entry));
    tt_var v = tt_param(tape, head.v, tt_tensor_matrix(g->d_v, key_entry));
    tt_var o = tt_attention(tape, q, k, v, (tt_attention_options){.rule = rule, .mask = head.mask});
    tt_backward_from(tape, o, tt_tensor_matrix(g->d_out, entry));
}

static bool compute(gradients *g, const attention_files *f, const tt_scale_rule *rule) {
    tt_tape *tape = tt_tape_new();
    if (!tape) return fail("--save-gradients: out of memory");
    bool good = true;
    for (tt_size e = 0; good && e < f->batch * f->heads; e++) {
        add_head(tape, g, f, rule, e);
        if (tt_tape_error(tape)) good = fail(tt_tape_error(tape));
    }
    tt_tape_free(tape);
    if (!good) return false;
    if (stats_finite(g->d_q.data, tt_tensor_count(g->d_q)) &&
        stats_finite(g->d_k.data, tt_tensor_count(g->d_k)) &&
        stats_finite(g->d_v.data, tt_tensor_count(g->d_v)))
        return true;
    return fail("--save-gradients: a gradient is beyond the range of a double; expected smaller "
                "numbers");
}

static bool write_one(const char *folder, const char *name, int ndim, const ptrdiff_t *dim,
                      const double *data) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path) return fail("out of memory");
    (void)snprintf(path, size, "%s/%s", folder, name);
    bool good = output_make_folders(path);
    if (!good) (void)message_fail(0, "cannot write %s: %s", path, strerror(errno));
    good = good && write_array(path, ndim, dim, data);
    free(path);
    return good;
}

bool save_gradients(const attention_files *f, const tt_scale_rule *rule, uint64_t seed,
                    const char *folder) {
    gradients g;
    ptrdiff_t out_dim[ARRAY_MAX_DIMS];
    shape_like_q(f, f->d_v, out_dim);
    bool good = gradients_new(&g, f, seed) || fail("--save-gradients: out of memory");
    good = good && compute(&g, f, rule) &&
           write_one(folder, "dQ.npy", f->q.ndim, f->q.dim, g.d_q.data) &&
           write_one(folder, "dK.npy", f->k.ndim, f->k.dim, g.d_k.data) &&
           write_one(folder, "dV.npy", f->v.ndim, f->v.dim, g.d_v.data) &&
           (!g.drawn || write_one(folder, "dO.npy", f->q.ndim, out_dim, g.d_out.data));
    gradients_free(&g);
    return good;
}
