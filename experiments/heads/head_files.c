#include "heads/head_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "common/message.h"
#include "heads/input.h"
#include "heads/numbering.h"

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* Dimensions as counted from the last: width d, tokens T, heads H, batch B. */
enum { WIDTH = 1, TOKENS, HEADS, BATCH };

static tt_size size_of(const array *a, int from_end) {
    return from_end <= a->ndim ? a->dim[a->ndim - from_end] : 1;
}

/* Whether b, if it is there, has the sizes that it must share with a. */
static bool fits(const char *a_path, const array *a, const char *b_path, const array *b,
                 const int *shared, const char *const *names) {
    char a_shape[SHAPE_BYTES], b_shape[SHAPE_BYTES], hint[NUMBERING_HINT] = "";
    const char *what = NULL;
    if (!b->data) return true;
    if (a->ndim != b->ndim) what = "number of dimensions";
    for (int i = 0; !what && shared[i]; i++) {
        if (size_of(a, shared[i]) == size_of(b, shared[i])) continue;
        what = names[i];
        (void)numbering_hint(hint, a, b, shared[i] == TOKENS);
    }
    if (!what) return true;
    return complain("%s %s does not fit %s %s: expected the same %s%s", b_path,
                    array_shape(b_shape, b), a_path, array_shape(a_shape, a), what, hint);
}

static bool heads_fit(const head_files *f) {
    tt_size heads = size_of(&f->q, HEADS), key_heads = size_of(&f->k, HEADS);
    if (heads % key_heads == 0) return true;
    return complain("%s has %td heads, %s has %td: expected as many, or fewer that divide them "
                    "(grouped queries)",
                    f->paths.q, heads, f->paths.k, key_heads);
}

/* Queries may be more or fewer than keys, but one more is likelier a header that counts columns. */
static bool no_header(const head_files *f) {
    const tt_size more = size_of(&f->q, TOKENS) - size_of(&f->k, TOKENS);
    const array *larger = more == 1 ? &f->q : &f->k;
    char shape[SHAPE_BYTES];
    if ((more != 1 && more != -1) || !numbering_row(larger, NUMBERING_SURE)) return true;
    return complain("%s %s: its first row is 0, 1, 2, ..., and %s has one row less; if pandas "
                    "wrote it, expected " ARRAY_PANDAS,
                    more == 1 ? f->paths.q : f->paths.k, array_shape(shape, larger),
                    more == 1 ? f->paths.k : f->paths.q);
}

static bool shapes_fit(head_files *f) {
    static const int QK[] = {WIDTH, BATCH, 0}, KV[] = {TOKENS, HEADS, BATCH, 0},
                     QO[] = {TOKENS, HEADS, BATCH, 0}, VO[] = {WIDTH, 0};
    static const char *const QK_NAMES[] = {"d_k (last dimension)", "batch"},
                             *const KV_NAMES[] = {"number of keys", "number of heads", "batch"},
                             *const QO_NAMES[] = {"number of queries", "number of heads", "batch"},
                             *const VO_NAMES[] = {"d_v (last dimension)"};
    const head_paths *p = &f->paths;
    if (!fits(p->q, &f->q, p->k, &f->k, QK, QK_NAMES) || !heads_fit(f) ||
        !fits(p->k, &f->k, p->v, &f->v, KV, KV_NAMES) ||
        !fits(p->q, &f->q, p->d_out, &f->d_out, QO, QO_NAMES) ||
        (f->v.data && !fits(p->v, &f->v, p->d_out, &f->d_out, VO, VO_NAMES)) || !no_header(f))
        return false;
    f->batch = size_of(&f->q, BATCH);
    f->heads = size_of(&f->q, HEADS);
    f->key_heads = size_of(&f->k, HEADS);
    f->queries = size_of(&f->q, TOKENS);
    f->keys = size_of(&f->k, TOKENS);
    f->d_k = size_of(&f->q, WIDTH);
    f->d_v = f->v.data ? size_of(&f->v, WIDTH) : 0;
    return true;
}

bool head_files_fit(const head_files *f, tt_size matrices) {
    const double matrix = (double)f->queries * (double)f->keys * sizeof(double);
    return machine_fits((double)matrices * matrix,
                        "%s, %s: %td matrices [%td,%td] of weights or the like need", f->paths.q,
                        f->paths.k, matrices, f->queries, f->keys);
}

/* ---- One head at a time ---------------------------------------------------------------------- */

tt_size head_files_key_entry(const head_files *f, tt_size entry) {
    tt_size group = f->heads / f->key_heads;
    return entry / f->heads * f->key_heads + entry % f->heads / group;
}

static tt_tensor matrix_of(const array *a, tt_size entry) {
    if (!a->data) return (tt_tensor){0, 0, 0, NULL};
    tt_size rows = size_of(a, TOKENS), cols = size_of(a, WIDTH);
    return tt_tensor_view(a->data + entry * rows * cols, 1, rows, cols);
}

static mask_sizes sizes_of(const head_files *f) {
    return (mask_sizes){f->batch, f->heads, f->queries, f->keys};
}

attention_head head_files_at(const head_files *f, tt_size entry) {
    tt_size b = entry / f->heads, h = entry % f->heads;
    tt_size key_entry = head_files_key_entry(f, entry);
    attention_head head = {.q = matrix_of(&f->q, entry),
                           .k = matrix_of(&f->k, key_entry),
                           .v = matrix_of(&f->v, key_entry),
                           .d_out = matrix_of(&f->d_out, entry)};
    const mask_sizes sizes = sizes_of(f);
    head.mask = mask_files_at(&f->masks, f->causal, &sizes, b, h);
    return head;
}

bool head_logits_finite(const attention_head *head, tt_tensor logits, tt_size *query,
                        tt_size *key) {
    for (tt_size i = 0; i < logits.rows; i++)
        for (tt_size j = 0; j < logits.cols; j++)
            if (!isfinite(logits.data[i * logits.cols + j]) &&
                tt_mask_allows(&head->mask, 0, i, j, logits.rows, logits.cols)) {
                *query = i;
                *key = j;
                return false;
            }
    return true;
}

/* ---- Some heads of all ----------------------------------------------------------------------- */

bool head_choice_read(const options *o, head_choice *out) {
    out->count = 0;
    return !options_given(o, "heads") ||
           options_int_list(o, "heads", 0, 1000000, out->head, &out->count);
}

bool head_choice_fits(const head_choice *c, const head_files *f) {
    for (int i = 0; i < c->count; i++)
        if (c->head[i] >= f->heads)
            return complain("--heads: %lld, but %s has heads 0 to %td", (long long)c->head[i],
                            f->paths.q, f->heads - 1);
    return true;
}

bool head_choice_has(const head_choice *c, tt_size head) {
    for (int i = 0; i < c->count; i++)
        if (c->head[i] == head) return true;
    return false;
}

/* ---- Finite where it matters ----------------------------------------------------------------- */

static bool is_seen(const attention_head *head, tt_size j) {
    for (tt_size i = 0; i < head->q.rows; i++)
        if (tt_mask_allows(&head->mask, 0, i, j, head->q.rows, head->k.rows)) return true;
    return false;
}

static bool refuse_nonfinite(const char *path, const array *a, tt_size i) {
    char place[SHAPE_BYTES];
    return complain("%s: %s at %s; attention needs finite numbers, but in keys that are masked for "
                    "every query",
                    path, array_nonfinite(a->data[i]), array_place(place, a, i));
}

/* K or V: a row that is not finite must belong to a key that nobody sees. */
static bool seen_rows_finite(const head_files *f, const char *path, const array *a) {
    for (tt_size e = 0; a->data && e < f->batch * f->heads; e++) {
        const attention_head head = head_files_at(f, e);
        const tt_size size = size_of(a, TOKENS) * size_of(a, WIDTH);
        const tt_size first = head_files_key_entry(f, e) * size;
        for (tt_size i = 0; i < size; i++)
            if (!isfinite(a->data[first + i]) && is_seen(&head, i / size_of(a, WIDTH)))
                return refuse_nonfinite(path, a, first + i);
    }
    return true;
}

/* ---- All together ---------------------------------------------------------------------------- */

unsigned head_paths_accept(const head_paths *paths) {
    return paths->bf16 ? ARRAY_BFLOAT16 : 0;
}

static bool read_arrays(const head_paths *p, head_files *out) {
    const unsigned accept = head_paths_accept(p);
    return input_read(p->q, accept | ARRAY_FINITE_FLOATS, &out->q) &&
           input_read(p->k, accept | ARRAY_ALLOW_NONFINITE, &out->k) &&
           input_read(p->v, accept | ARRAY_ALLOW_NONFINITE, &out->v) &&
           input_read(p->d_out, accept | ARRAY_FINITE_FLOATS, &out->d_out);
}

static int read_masks(const mask_request *mask, head_files *f) {
    const mask_sizes sizes = sizes_of(f);
    if (!mask_request_fits(mask, f->queries, f->keys)) return EXIT_USAGE;
    f->causal = mask->causal;
    return mask_files_read(mask, &sizes, head_paths_accept(&f->paths), &f->masks);
}

static void warn_of_numbering(const head_files *f) {
    const head_paths *p = &f->paths;
    const array *const arrays[] = {&f->q, &f->k, &f->v, &f->d_out};
    numbering_warn((const char *const[]){p->q, p->k, p->v, p->d_out}, arrays, 4);
}

int head_files_read(const head_paths *paths, const mask_request *mask, head_files *out) {
    *out = (head_files){.paths = *paths};
    int code = EXIT_FAILED;
    if (read_arrays(paths, out) && shapes_fit(out)) {
        code = read_masks(mask, out);
        if (code == EXIT_OK && (!seen_rows_finite(out, paths->k, &out->k) ||
                                !seen_rows_finite(out, paths->v, &out->v)))
            code = EXIT_FAILED;
    }
    if (code == EXIT_OK)
        warn_of_numbering(out);
    else
        head_files_free(out);
    return code;
}

void head_files_free(head_files *f) {
    array_free(&f->q);
    array_free(&f->k);
    array_free(&f->v);
    array_free(&f->d_out);
    mask_files_free(&f->masks);
    *f = (head_files){0};
}
