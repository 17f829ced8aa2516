#include "heads/head_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "common/message.h"
#include "common/output.h"
#include "heads/array_file.h"

/* ---- The mask options ------------------------------------------------------------------------ */

const char *mask_word(int i) {
    static const char *const WORDS[] = {[TT_CAUSAL_NONE] = "none",
                                        [TT_CAUSAL_TOP_LEFT] = "causal-top-left",
                                        [TT_CAUSAL_BOTTOM_RIGHT] = "causal-bottom-right"};
    return i <= TT_CAUSAL_BOTTOM_RIGHT ? WORDS[i] : NULL;
}

bool mask_request_read(const options *o, mask_request *out) {
    int causal;
    *out = (mask_request){.unaligned = options_flag(o, "causal"),
                          .key_lengths = options_text(o, "key-lengths"),
                          .allowed = options_text(o, "allowed")};
    if (out->unaligned && options_given(o, "mask"))
        return complain("--causal and --mask %s: expected one of them", options_text(o, "mask"));
    if (out->unaligned) out->causal = TT_CAUSAL_TOP_LEFT;
    if (!options_word(o, "mask", mask_word, &causal)) return false;
    if (causal >= 0) out->causal = (tt_causal)causal;
    return true;
}

bool mask_request_fits(const mask_request *mask, tt_size queries, tt_size keys) {
    return !mask->unaligned || queries == keys ||
           complain("--causal with %td queries and %td keys: expected --mask causal-top-left "
                    "(query 0 stands at key 0) or --mask causal-bottom-right (the last query "
                    "stands at the last key)",
                    queries, keys);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* Dimensions as counted from the last: width d, tokens T, heads H, batch B. */
enum { WIDTH = 1, TOKENS, HEADS, BATCH };

static tt_size size_of(const array *a, int from_end) {
    return from_end <= a->ndim ? a->dim[a->ndim - from_end] : 1;
}

/* Whether b, if it is there, has the sizes that it must share with a. */
static bool fits(const char *a_path, const array *a, const char *b_path, const array *b,
                 const int *shared, const char *const *names) {
    char a_shape[SHAPE_BYTES], b_shape[SHAPE_BYTES];
    const char *what = NULL;
    if (!b->data) return true;
    if (a->ndim != b->ndim) what = "number of dimensions";
    for (int i = 0; !what && shared[i]; i++)
        if (size_of(a, shared[i]) != size_of(b, shared[i])) what = names[i];
    if (!what) return true;
    return complain("%s %s does not fit %s %s: expected the same %s", b_path,
                    array_shape(b_shape, b), a_path, array_shape(a_shape, a), what);
}

static bool heads_fit(const head_files *f) {
    tt_size heads = size_of(&f->q, HEADS), key_heads = size_of(&f->k, HEADS);
    if (heads % key_heads == 0) return true;
    return complain("%s has %td heads, %s has %td: expected as many, or fewer that divide them "
                    "(grouped queries)",
                    f->paths.q, heads, f->paths.k, key_heads);
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
        (f->v.data && !fits(p->v, &f->v, p->d_out, &f->d_out, VO, VO_NAMES)))
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

/* ---- Masks from files ------------------------------------------------------------------------ */

static bool read_array(const char *path, unsigned accept, array *out) {
    char error[ARRAY_ERROR_SIZE];
    output_protect(path);
    if (!path[0] || array_file_read(path, accept, out, error, sizeof error)) return true;
    return complain("%s", error);
}

/* A list of any orientation: [B], or a row or column of a CSV. */
static bool take_key_lengths(const char *path, const array *a, head_files *f) {
    char shape[SHAPE_BYTES];
    if (array_count(a) != f->batch) {
        return complain("%s %s: expected one key length for each of %td batch entries", path,
                        array_shape(shape, a), f->batch);
    }
    f->key_lengths = malloc((size_t)f->batch * sizeof *f->key_lengths);
    if (!f->key_lengths) return complain("out of memory");
    for (tt_size b = 0; b < f->batch; b++) {
        double length = a->data[b];
        if (!(length >= 0 && length <= (double)f->keys && length == floor(length))) {
            return complain("%s: %g at [%td]; expected key lengths from 0 to %td", path, length, b,
                            f->keys);
        }
        f->key_lengths[b] = (tt_size)length;
    }
    return true;
}

/* The sizes of the mask's leading dimensions; 1 stands for all. Three dimensions are [B,Tq,Tk], or
 * [H,Tq,Tk] where Q has no batch. */
static bool allowed_shape_fits(const array *a, head_files *f) {
    f->allowed_batches = size_of(a, BATCH);
    f->allowed_heads = size_of(a, HEADS);
    if (a->ndim == HEADS && f->allowed_heads == f->batch) {
        f->allowed_batches = f->batch;
        f->allowed_heads = 1;
    }
    return a->ndim >= TOKENS && size_of(a, WIDTH) == f->keys && size_of(a, TOKENS) == f->queries &&
           (f->allowed_batches == 1 || f->allowed_batches == f->batch) &&
           (f->allowed_heads == 1 ||
            (f->allowed_heads == f->heads && (a->ndim == BATCH || f->batch == 1)));
}

static bool take_allowed(const char *path, const array *a, head_files *f) {
    char shape[SHAPE_BYTES];
    if (!allowed_shape_fits(a, f)) {
        return complain("%s %s: expected [Tq,Tk], [B,Tq,Tk] or [B,H,Tq,Tk] with B %td, H %td, "
                        "Tq %td, Tk %td",
                        path, array_shape(shape, a), f->batch, f->heads, f->queries, f->keys);
    }
    tt_size count = array_count(a);
    f->allowed = malloc((size_t)count);
    if (!f->allowed) return complain("out of memory");
    for (tt_size i = 0; i < count; i++) {
        if (a->data[i] != 0 && a->data[i] != 1) {
            return complain("%s: %g at query %td, key %td; expected 1 (may attend) or 0 (may "
                            "not), no mask to be added",
                            path, a->data[i], i / f->keys % f->queries, i % f->keys);
        }
        f->allowed[i] = a->data[i] != 0;
    }
    return true;
}

static bool read_masks(const mask_request *mask, head_files *f) {
    array lengths = {0}, allowed = {0};
    unsigned accept = ARRAY_ALLOW_INTEGERS | ARRAY_ALLOW_NONFINITE; /* refused below, with reason */
    f->causal = mask->causal;
    bool good = read_array(mask->key_lengths, accept, &lengths) &&
                (!lengths.data || take_key_lengths(mask->key_lengths, &lengths, f)) &&
                read_array(mask->allowed, accept, &allowed) &&
                (!allowed.data || take_allowed(mask->allowed, &allowed, f));
    array_free(&lengths);
    array_free(&allowed);
    return good;
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

attention_head head_files_at(const head_files *f, tt_size entry) {
    tt_size b = entry / f->heads, h = entry % f->heads;
    tt_size key_entry = head_files_key_entry(f, entry);
    attention_head head = {.q = matrix_of(&f->q, entry),
                           .k = matrix_of(&f->k, key_entry),
                           .v = matrix_of(&f->v, key_entry),
                           .d_out = matrix_of(&f->d_out, entry)};
    head.mask.causal = f->causal;
    if (f->key_lengths) head.mask.key_lengths = f->key_lengths + b;
    if (f->allowed) {
        tt_size at =
            (f->allowed_batches > 1 ? b : 0) * f->allowed_heads + (f->allowed_heads > 1 ? h : 0);
        head.mask.allowed = f->allowed + at * f->queries * f->keys;
    }
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

int head_files_read(const head_paths *paths, const mask_request *mask, head_files *out) {
    *out = (head_files){.paths = *paths};
    int code = EXIT_FAILED;
    if (read_array(paths->q, ARRAY_FINITE_FLOATS, &out->q) &&
        read_array(paths->k, ARRAY_ALLOW_NONFINITE, &out->k) &&
        read_array(paths->v, ARRAY_ALLOW_NONFINITE, &out->v) &&
        read_array(paths->d_out, ARRAY_FINITE_FLOATS, &out->d_out) && shapes_fit(out)) {
        if (!mask_request_fits(mask, out->queries, out->keys))
            code = EXIT_USAGE;
        else if (read_masks(mask, out) && seen_rows_finite(out, paths->k, &out->k) &&
                 seen_rows_finite(out, paths->v, &out->v))
            code = EXIT_OK;
    }
    if (code != EXIT_OK) head_files_free(out);
    return code;
}

void head_files_free(head_files *f) {
    array_free(&f->q);
    array_free(&f->k);
    array_free(&f->v);
    array_free(&f->d_out);
    free(f->key_lengths);
    free(f->allowed);
    *f = (head_files){0};
}
