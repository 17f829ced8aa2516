/* inputs.c: the numbers of the lessons are small enough to follow by hand, or drawn as PyTorch
 * draws them, so that every one can be had elsewhere.
 */
#include "trace/inputs.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "tt/ops.h"
#include "tt/rng.h"

static const struct {
    const char *name, *about;
    tt_size queries, keys, d_k, d_v;
} LESSONS[LESSON_COUNT] = {
    [SOFT_LOOKUP] = {"soft-lookup",
                     "one query looks up two keys and gets a mixture of their values", 1, 2, 2, 2},
    [FIVE_TOKENS] = {"five-tokens",
                     "X = rand(5,3), W_q, W_k, W_v = randn(3,3) after torch.manual_seed(42)", 5, 5,
                     3, 3},
    [BATCH] = {"batch", "small whole numbers, B x T x H", BATCH_T, BATCH_T, BATCH_H, BATCH_H},
    [ONE_HOT] = {"one-hot", "the same Q and K at growing d_k, until the weights are one-hot",
                 ONE_HOT_QUERIES, ONE_HOT_KEYS, 16, 2},
};

const char *trace_lesson_name(int i) {
    return i < LESSON_COUNT ? LESSONS[i].name : NULL;
}

const char *trace_lesson_about(int i) {
    return i < LESSON_COUNT ? LESSONS[i].about : NULL;
}

static lesson_input sizes_of(int lesson) {
    return (lesson_input){.queries = LESSONS[lesson].queries,
                          .keys = LESSONS[lesson].keys,
                          .d_k = LESSONS[lesson].d_k,
                          .d_v = LESSONS[lesson].d_v};
}

/* ---- five-tokens ----------------------------------------------------------------------------- */

static void draw(tt_rng *rng, double *out, tt_size n, bool normal) {
    float x[15];
    if (normal)
        (void)tt_rng_normal_f32(rng, x, n);
    else
        tt_rng_uniform_f32(rng, x, n);
    for (tt_size i = 0; i < n; i++) out[i] = x[i];
}

bool five_tokens_new(five_tokens *f) {
    tt_rng rng;
    tt_rng_seed(&rng, 42);
    draw(&rng, f->x, 15, false);
    draw(&rng, f->w_q, 9, true);
    draw(&rng, f->w_k, 9, true);
    draw(&rng, f->w_v, 9, true);
    tt_tape *tape = tt_tape_new();
    if (!tape) return false;
    double *w[] = {f->w_q, f->w_k, f->w_v}, *to[] = {f->q, f->k, f->v};
    tt_var x = tt_const(tape, tt_tensor_view(f->x, 1, 5, 3));
    for (int i = 0; i < 3; i++) {
        tt_var product = tt_matmul(tape, x, tt_const(tape, tt_tensor_view(w[i], 1, 3, 3)));
        if (!tt_tape_error(tape)) memcpy(to[i], tt_value(tape, product).data, sizeof f->q);
    }
    bool good = !tt_tape_error(tape);
    tt_tape_free(tape);
    return good;
}

/* ---- batch ----------------------------------------------------------------------------------- */

static const double batch_q[BATCH_B][BATCH_T * BATCH_H] = {{1, 0, 2, -1, 0, 2, 1, 0, -1, 1, 0, 2},
                                                           {2, -1, 0, 1, 1, 1, 1, 1, 0, 0, 3, -2}};
static const double batch_k[BATCH_B][BATCH_T * BATCH_H] = {{2, 1, 0, -1, 0, 1, 1, 1, 1, -1, 1, 3},
                                                           {1, 0, 1, 0, 0, 2, -1, 1, -1, 1, 2, -1}};
static const double batch_v[BATCH_B][BATCH_T * BATCH_H] = {{1, 0, 0, 2, 0, 3, 1, 0, 2, 1, 0, 1},
                                                           {0, 1, 2, 0, 1, 1, 0, 3, 3, 0, 1, 1}};

/* ---- one-hot --------------------------------------------------------------------------------- */

/* Q and K of a width from those of width 4: n = d_k/4 copies side by side, of which K's first
 * (n + sqrt(n))/2 keep their sign and the rest have the opposite one. So each entry stays as large
 * as it was and Q K^T grows by sqrt(n), as that of independent random entries does. */
void one_hot_widen(tt_size d_k, double *q, double *k) {
    static const double Q4[ONE_HOT_QUERIES][ONE_HOT_NARROW] = {{1, -1, 2, 0}, {0, 1, -1, 1}};
    static const double K4[ONE_HOT_KEYS][ONE_HOT_NARROW] = {
        {1, 0, 1, -1}, {-1, 1, 0, 1}, {1, 1, 1, 1}};
    tt_size copies = d_k / ONE_HOT_NARROW;
    double kept = ((double)copies + sqrt((double)copies)) / 2;
    for (tt_size c = 0; c < d_k; c++) {
        tt_size copy = c / ONE_HOT_NARROW;
        double sign = (double)copy < kept ? 1 : -1;
        for (tt_size i = 0; i < ONE_HOT_QUERIES; i++) q[i * d_k + c] = Q4[i][c % ONE_HOT_NARROW];
        for (tt_size j = 0; j < ONE_HOT_KEYS; j++)
            k[j * d_k + c] = sign * K4[j][c % ONE_HOT_NARROW];
    }
}

/* ---- All ------------------------------------------------------------------------------------- */

static void set(lesson_input *in, const double *q, const double *k, const double *v) {
    memcpy(in->q, q, (size_t)(in->queries * in->d_k) * sizeof *q);
    memcpy(in->k, k, (size_t)(in->keys * in->d_k) * sizeof *k);
    memcpy(in->v, v, (size_t)(in->keys * in->d_v) * sizeof *v);
}

bool lesson_input_new(int lesson, int entry, lesson_input *in) {
    static const double SOFT_Q[] = {1, 0}, SOFT_K[] = {1, 0, 0, 1}, SOFT_V[] = {10, 0, 0, 20};
    static const double ONE_HOT_V[] = {1, 0, 0, 1, 1, 1};
    *in = sizes_of(lesson);
    if (lesson == SOFT_LOOKUP) set(in, SOFT_Q, SOFT_K, SOFT_V);
    if (lesson == BATCH) set(in, batch_q[entry], batch_k[entry], batch_v[entry]);
    if (lesson == FIVE_TOKENS) {
        five_tokens f;
        if (!five_tokens_new(&f)) return false;
        set(in, f.q, f.k, f.v);
    }
    if (lesson == ONE_HOT) {
        one_hot_widen(in->d_k, in->q, in->k);
        memcpy(in->v, ONE_HOT_V, sizeof ONE_HOT_V);
    }
    return true;
}

attention_head lesson_head(lesson_input *in, const tt_mask *mask) {
    return (attention_head){.q = {1, in->queries, in->d_k, in->q},
                            .k = {1, in->keys, in->d_k, in->k},
                            .v = {1, in->keys, in->d_v, in->v},
                            .mask = *mask};
}
