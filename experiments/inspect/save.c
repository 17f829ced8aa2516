#include "inspect/save.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/stats.h"
#include "heads/npy.h"

/* Opens, writes and closes it; it is not in place yet. What it may not replace is refused before
 * anything is written. */
static bool write_array(output *o, const char *path, int ndim, const ptrdiff_t *dim,
                        const double *data) {
    return output_open(o, path) && output_may_replace(o) && npy_write(o->stream, ndim, dim, data) &&
           output_close(o);
}

/* The shape of Q with another last dimension. */
static void shape_like_q(const head_files *f, tt_size last, ptrdiff_t dim[ARRAY_MAX_DIMS]) {
    memcpy(dim, f->q.dim, sizeof f->q.dim);
    dim[f->q.ndim - 1] = last;
}

/* ---- Weights --------------------------------------------------------------------------------- */

bool kept_weights_new(kept_weights *w, const head_files *f, const bool *wanted, tt_size more) {
    const tt_size heads = f->batch * f->heads;
    tt_size count = 0;
    for (tt_size e = 0; e < heads; e++) count += wanted[e];
    *w = (kept_weights){NULL, NULL};
    if (!head_files_fit(f, count + more)) return false;
    w->data = tt_tensor_new(count, f->queries, f->keys).data;
    w->of = calloc((size_t)heads, sizeof *w->of);
    if (w->data && w->of) {
        double *place = w->data;
        for (tt_size e = 0; e < heads; e++) {
            if (!wanted[e]) continue;
            w->of[e] = place;
            place += f->queries * f->keys;
        }
        return true;
    }
    kept_weights_free(w);
    return complain_of_memory();
}

bool kept_weights_write(const kept_weights *w, const head_files *f, const char *path, results *to) {
    ptrdiff_t dim[ARRAY_MAX_DIMS];
    shape_like_q(f, f->keys, dim);
    return write_array(results_also(to), path, f->q.ndim, dim, w->data);
}

void kept_weights_free(kept_weights *w) {
    free(w->data);
    free(w->of);
    *w = (kept_weights){NULL, NULL};
}

/* ---- Gradients ------------------------------------------------------------------------------- */

static bool finite(const head_gradients *g) {
    for (int i = 0; i < HEAD_GRADIENTS; i++)
        if (!stats_finite(g->of[i].data, tt_tensor_count(g->of[i])))
            return complain(
                "--save-gradients: a gradient is beyond the range of a double; expected "
                "smaller numbers");
    return true;
}

/* folder/name.npy */
static bool write_one(output *o, const char *folder, const char *name, int ndim,
                      const ptrdiff_t *dim, const double *data) {
    size_t size = strlen(folder) + strlen(name) + sizeof "/.npy";
    char *path = malloc(size);
    if (!path) return complain_of_memory();
    (void)snprintf(path, size, "%s/%s.npy", folder, name);
    bool good = write_array(o, path, ndim, dim, data);
    free(path);
    return good;
}

static bool write_all(const head_gradients *g, const head_files *f, tt_tensor drawn,
                      const char *folder, results *to) {
    ptrdiff_t out_dim[ARRAY_MAX_DIMS];
    bool good = true;
    shape_like_q(f, f->d_v, out_dim);
    for (int i = 0; good && i < HEAD_GRADIENTS; i++) {
        const array *shape = head_gradient_shape(f, i);
        good = write_one(results_also(to), folder, head_gradient_name(i), shape->ndim, shape->dim,
                         g->of[i].data);
    }
    if (good && drawn.data)
        good = write_one(results_also(to), folder, "dO", f->q.ndim, out_dim, drawn.data);
    return good;
}

bool save_gradients(const head_files *f, const tt_scale_rule *rule, uint64_t seed,
                    const char *folder, results *to) {
    head_gradients g = {{{0, 0, 0, NULL}}};
    tt_tensor drawn = {0, 0, 0, NULL};
    tt_tensor d_out = tt_tensor_view(f->d_out.data, f->batch * f->heads, f->queries, f->d_v);
    if (!d_out.data) d_out = drawn = head_gradients_draw(f, seed);
    bool good = d_out.data || complain("--save-gradients: out of memory");
    good = good && head_gradients_compute(&g, f, rule, d_out, NULL) && finite(&g) &&
           write_all(&g, f, drawn, folder, to);
    head_gradients_free(&g);
    tt_tensor_free(&drawn);
    return good;
}
