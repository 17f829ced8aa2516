#include "gradcheck/cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/hash.h"
#include "heads/head_files.h"
#include "tt/ops.h"
#include "tt/rng.h"

const char *case_mask_name(int i) {
    static const char *const DRAWN[] = {
        [MASK_KEY_LENGTHS] = "key-lengths", [MASK_ALLOWED] = "allowed", [MASK_ALL] = "all", NULL};
    return i < MASK_KEY_LENGTHS ? mask_word(i) : DRAWN[i];
}

/* A stream for this case alone, so that it stays as it is when others come and go. */
static tt_rng stream_of(const check_case *c, uint64_t seed) {
    char text[CASE_BYTES + 64];
    tt_rng rng;
    int length = snprintf(text, sizeof text, "%" PRIu64 " %s %s", seed, c->op, c->text);
    tt_rng_seed(&rng, hash_text(HASH_START, text, (size_t)length));
    return rng;
}

/* Adds an input of standard normal entries, times `factor`. */
static bool draw(check_case *c, const char *name, tt_size b, tt_size rows, tt_size cols,
                 double factor, tt_rng *rng) {
    tt_tensor t = tt_tensor_new(b, rows, cols);
    if (!t.data) return false;
    tt_rng_normal(rng, t.data, tt_tensor_count(t));
    for (tt_size i = 0; i < tt_tensor_count(t); i++) t.data[i] *= factor;
    c->name[c->inputs] = name;
    c->input[c->inputs++] = t;
    c->checked = c->inputs;
    return true;
}

void case_free(check_case *c) {
    for (int i = 0; i < c->inputs; i++) tt_tensor_free(&c->input[i]);
    free(c->mask_storage);
    c->mask_storage = NULL;
}

/* ---- Elementary operations ------------------------------------------------------------------- */

static tt_var build_matmul(tt_tape *tape, const tt_var *in, void *context) {
    (void)context;
    return tt_matmul(tape, in[0], in[1]);
}

static tt_var build_matmul_nt(tt_tape *tape, const tt_var *in, void *context) {
    (void)context;
    return tt_matmul_nt(tape, in[0], in[1]);
}

static tt_var build_add(tt_tape *tape, const tt_var *in, void *context) {
    (void)context;
    return tt_add(tape, in[0], in[1]);
}

static tt_var build_mul_scalar(tt_tape *tape, const tt_var *in, void *context) {
    return tt_mul_scalar(tape, in[0], ((const check_case *)context)->factor);
}

static tt_var build_softmax(tt_tape *tape, const tt_var *in, void *context) {
    (void)context;
    return tt_softmax(tape, in[0]);
}

static tt_var build_mse(tt_tape *tape, const tt_var *in, void *context) {
    (void)context;
    return tt_mse(tape, in[0], in[1]);
}

/* The constant is input 1, lent to the op and not differentiated. */
static tt_var build_dot(tt_tape *tape, const tt_var *in, void *context) {
    return tt_dot(tape, in[0], ((const check_case *)context)->input[1]);
}

/* Sizes of an input: 1, the batch, queries, keys, the width of the values. */
enum { ONE, BATCH, QUERIES, KEYS, WIDTH, SIZES };

/* An operation under check: a row here, and its builder above. */
typedef struct elementary {
    const char *name;
    tt_gradcheck_build *build;
    int a[3], b[3]; /* batch, rows and columns of its inputs; b is not there where it is 0, 0, 0 */
    int constants;  /* the last so many inputs are not differentiated */
} elementary;

static const elementary OPS[] = {
    {"matmul", build_matmul, {BATCH, QUERIES, KEYS}, {BATCH, KEYS, WIDTH}, 0},
    {"matmul_nt", build_matmul_nt, {BATCH, QUERIES, KEYS}, {ONE, WIDTH, KEYS}, 0},
    {"add", build_add, {BATCH, QUERIES, KEYS}, {BATCH, QUERIES, KEYS}, 0},
    {"mul_scalar", build_mul_scalar, {BATCH, QUERIES, KEYS}, {0}, 0},
    {"softmax", build_softmax, {BATCH, QUERIES, KEYS}, {0}, 0},
    {"mse", build_mse, {BATCH, QUERIES, KEYS}, {BATCH, QUERIES, KEYS}, 0},
    {"dot", build_dot, {BATCH, QUERIES, KEYS}, {BATCH, QUERIES, KEYS}, 1},
};

enum { OP_COUNT = sizeof OPS / sizeof *OPS };

const char *case_op_name(int i) {
    return i < OP_COUNT ? OPS[i].name : NULL;
}

bool case_op(check_case *c, int op, const check_shape *shape, uint64_t seed) {
    const elementary *e = &OPS[op];
    const tt_size size[SIZES] = {1, shape->batch, shape->tokens, shape->keys, shape->d_v};
    *c = (check_case){.op = e->name, .build = e->build, .factor = -1.75};
    (void)snprintf(c->text, sizeof c->text, "batch=%td", shape->batch);
    tt_rng rng = stream_of(c, seed);
    bool good = draw(c, "A", size[e->a[0]], size[e->a[1]], size[e->a[2]], 1, &rng);
    if (e->b[1]) good = good && draw(c, "B", size[e->b[0]], size[e->b[1]], size[e->b[2]], 1, &rng);
    c->checked -= e->constants;
    return good;
}

/* ---- Attention ------------------------------------------------------------------------------- */

static tt_var build_attention(tt_tape *tape, const tt_var *in, void *context) {
    const check_case *c = context;
    tt_attention_options with = c->attention;
    with.logit_scale = c->inputs > 3 ? &in[3] : NULL;
    return tt_attention(tape, in[0], in[1], in[2], with);
}

static bool draw_key_lengths(check_case *c, const check_shape *shape, tt_rng *rng) {
    tt_size *lengths = calloc((size_t)shape->batch, sizeof *lengths);
    if (!lengths) return false;
    for (tt_size b = 0; b < shape->batch; b++) {
        double u;
        tt_rng_uniform(rng, &u, 1);
        lengths[b] = (tt_size)(u * (double)(shape->keys + 1));
        if (b == 0 && lengths[b] < 2)
            lengths[b] = shape->keys; /* something must be left to check */
    }
    c->attention.mask.key_lengths = c->mask_storage = lengths;
    return true;
}

static bool draw_allowed(check_case *c, const check_shape *shape, tt_rng *rng) {
    size_t count = (size_t)(shape->batch * shape->tokens * shape->keys);
    unsigned char *allowed = calloc(count, 1);
    if (!allowed) return false;
    for (size_t i = 0; i < count; i++) {
        double u;
        tt_rng_uniform(rng, &u, 1);
        allowed[i] = u < 0.7;
    }
    c->attention.mask.allowed = c->mask_storage = allowed;
    return true;
}

const char CASE_SATURATED[] = " saturated";

static bool draw_qkv(check_case *c, const check_shape *s, double sharpness, tt_rng *rng) {
    return draw(c, "Q", s->batch, s->tokens, s->d_k, 1, rng) &&
           draw(c, "K", s->batch, s->keys, s->d_k, sharpness, rng) &&
           draw(c, "V", s->batch, s->keys, s->d_v, 1, rng);
}

bool case_attention(check_case *c, const char *op, const check_shape *shape, const scaling *rule,
                    mask_kind mask, double sharpness, bool learned, uint64_t seed) {
    *c = (check_case){.op = op, .build = build_attention, .attention.rule = &rule->rule};
    (void)snprintf(c->text, sizeof c->text, "d_k=%td scale=%s mask=%s%s", shape->d_k, rule->name,
                   case_mask_name((int)mask), sharpness > 1 ? CASE_SATURATED : "");
    tt_rng rng = stream_of(c, seed);
    if (!draw_qkv(c, shape, sharpness, &rng)) return false;
    if (learned && !draw(c, "tau", 1, 1, 1, 0.5, &rng)) return false;
    if (mask < MASK_KEY_LENGTHS) c->attention.mask.causal = (tt_causal)mask;
    if (mask == MASK_KEY_LENGTHS) return draw_key_lengths(c, shape, &rng);
    return mask != MASK_ALLOWED || draw_allowed(c, shape, &rng);
}

static tt_var build_faulty(tt_tape *tape, const tt_var *in, void *context) {
    const check_case *c = context;
    return faulty_attention(tape, in[0], in[1], in[2], c->factor, c->fault);
}

bool case_faulty(check_case *c, const check_shape *shape, fault f, uint64_t seed) {
    check_shape square = *shape;
    square.keys = square.tokens; /* swapped gradients need one shape */
    *c = (check_case){
        .op = "faulty", .build = build_faulty, .factor = 1 / sqrt((double)shape->d_k), .fault = f};
    /* the fault is no part of the name: all are looked for in the same numbers */
    (void)snprintf(c->text, sizeof c->text, "d_k=%td", shape->d_k);
    tt_rng rng = stream_of(c, seed);
    (void)snprintf(c->text, sizeof c->text, "d_k=%td fault=%s", shape->d_k, fault_name((int)f));
    return draw_qkv(c, &square, 1, &rng);
}
