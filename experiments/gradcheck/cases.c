/* cases.c: see gradcheck_cases.h. */
#include "gradcheck/cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tt/ops.h"
#include "tt/rng.h"

const char *const MASK_NAMES[MASK_KINDS] = {"none", "causal-top-left", "causal-bottom-right",
                                            "key-lengths", "allowed"};

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

static tt_var build_scale(tt_tape *tape, const tt_var *in, void *context) {
    return tt_scale(tape, in[0], ((const check_case *)context)->scale);
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

const char *const ELEMENTARY_OPS[] = {"matmul",  "matmul_nt", "add", "scale",
                                      "softmax", "mse",       "dot", NULL};

bool case_elementary(check_case *c, const char *op, const check_shape *shape, tt_rng *rng) {
    const tt_size b = shape->batch, t = shape->tokens, k = shape->keys, d = shape->d_v;
    *c = (check_case){.op = op, .scale = -1.75};
    (void)snprintf(c->text, sizeof c->text, "batch=%td", b);
    if (strcmp(op, "matmul") == 0) {
        c->build = build_matmul;
        return draw(c, "A", b, t, k, 1, rng) && draw(c, "B", b, k, d, 1, rng);
    }
    if (strcmp(op, "matmul_nt") == 0) { /* and one B for the whole batch */
        c->build = build_matmul_nt;
        return draw(c, "A", b, t, k, 1, rng) && draw(c, "B", 1, d, k, 1, rng);
    }
    if (!draw(c, "A", b, t, k, 1, rng)) return false;
    if (strcmp(op, "scale") == 0) c->build = build_scale;
    if (strcmp(op, "softmax") == 0) c->build = build_softmax;
    if (c->build) return true;
    if (strcmp(op, "add") == 0) c->build = build_add;
    if (strcmp(op, "mse") == 0) c->build = build_mse;
    bool good = draw(c, "B", b, t, k, 1, rng);
    if (c->build) return good;
    c->build = build_dot;
    c->checked = 1;
    return good;
}

/* ---- Attention ------------------------------------------------------------------------------- */

static tt_var build_attention(tt_tape *tape, const tt_var *in, void *context) {
    return tt_attention(tape, in[0], in[1], in[2], ((const check_case *)context)->attention);
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

static bool draw_qkv(check_case *c, const check_shape *s, double sharpness, tt_rng *rng) {
    return draw(c, "Q", s->batch, s->tokens, s->d_k, 1, rng) &&
           draw(c, "K", s->batch, s->keys, s->d_k, sharpness, rng) &&
           draw(c, "V", s->batch, s->keys, s->d_v, 1, rng);
}

bool case_attention(check_case *c, const char *op, const check_shape *shape,
                    const tt_scale_rule *rule, mask_kind mask, double sharpness, tt_rng *rng) {
    *c = (check_case){.op = op, .build = build_attention, .attention.rule = rule};
    (void)snprintf(c->text, sizeof c->text, "d_k=%td scale=%s mask=%s%s", shape->d_k, rule->name,
                   MASK_NAMES[mask], sharpness > 1 ? " saturated" : "");
    if (!draw_qkv(c, shape, sharpness, rng)) return false;
    if (mask == MASK_TOP_LEFT) c->attention.mask.causal = TT_CAUSAL_TOP_LEFT;
    if (mask == MASK_BOTTOM_RIGHT) c->attention.mask.causal = TT_CAUSAL_BOTTOM_RIGHT;
    if (mask == MASK_KEY_LENGTHS) return draw_key_lengths(c, shape, rng);
    return mask != MASK_ALLOWED || draw_allowed(c, shape, rng);
}

static tt_var build_faulty(tt_tape *tape, const tt_var *in, void *context) {
    const check_case *c = context;
    return faulty_attention(tape, in[0], in[1], in[2], c->scale, c->fault);
}

bool case_faulty(check_case *c, const check_shape *shape, fault f, tt_rng *rng) {
    check_shape square = *shape;
    square.keys = square.tokens; /* swapped gradients need one shape */
    *c = (check_case){
        .op = "faulty", .build = build_faulty, .scale = 1 / sqrt((double)shape->d_k), .fault = f};
    (void)snprintf(c->text, sizeof c->text, "d_k=%td fault=%s", shape->d_k, FAULT_NAMES[f]);
    return draw_qkv(c, &square, 1, rng);
}
