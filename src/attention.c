/* attention.c: see tt/attention.h for the formulas. Backward mirrors forward pass by pass. */
#include "tt/attention.h"

#include <math.h>
#include <stdbool.h>

#include "gemm.h"
#include "softmax.h"

typedef struct saved {
    double scale;
    tt_tensor logits, weights;
    tt_tensor dlogits;
    tt_tensor scratch; /* [1,Tq,Tk], for one entry of the batch */
} saved;

enum { Q, K, V };

static void attention_forward(const tt_call *c) {
    const saved *s = c->context;
    const tt_size tq = c->in[Q].rows, tk = c->in[K].rows;
    for (tt_size b = 0; b < c->out.batch; b++) {
        const double *q = tt_tensor_matrix(c->in[Q], b).data;
        const double *k = tt_tensor_matrix(c->in[K], b).data;
        const double *v = tt_tensor_matrix(c->in[V], b).data;
        double *z = tt_tensor_matrix(s->logits, b).data;
        double *p = tt_tensor_matrix(s->weights, b).data;

        /* 1. Z = s Q K^T */
        tt_gemm(TT_GEMM_NT, tq, tk, c->in[Q].cols, q, k, z, false);
        for (tt_size i = 0; i < tq * tk; i++) z[i] *= s->scale;
        /* 2. P = softmax(Z) */
        for (tt_size i = 0; i < tq; i++) tt_softmax_row(z + i * tk, tk, p + i * tk);
        /* 3. O = P V */
        tt_gemm(TT_GEMM_NN, tq, c->out.cols, tk, p, v, tt_tensor_matrix(c->out, b).data, false);
    }
}

static void attention_backward(const tt_call *c) {
    const saved *s = c->context;
    const tt_size tq = c->in[Q].rows, tk = c->in[K].rows, dk = c->in[Q].cols, dv = c->out.cols;
    for (tt_size b = 0; b < c->out.batch; b++) {
        const double *out_grad = tt_tensor_matrix(c->dout, b).data;
        const double *p = tt_tensor_matrix(s->weights, b).data;
        double *dz = tt_tensor_matrix(s->dlogits, b).data;
        double *t = s->scratch.data;

        /* 3. O = P V:        dV = P^T dO, dP = dO V^T */
        if (c->din[V].data)
            tt_gemm(TT_GEMM_TN, tk, dv, tq, p, out_grad, tt_tensor_matrix(c->din[V], b).data, true);
        tt_gemm(TT_GEMM_NT, tq, tk, dv, out_grad, tt_tensor_matrix(c->in[V], b).data, t, false);
        /* 2. P = softmax(Z): dZ = P (dP - sum_j P_j dP_j) */
        for (tt_size i = 0; i < tq; i++)
            tt_softmax_row_backward(p + i * tk, t + i * tk, tk, dz + i * tk);
        /* 1. Z = s Q K^T:    dQ = s dZ K, dK = s dZ^T Q */
        for (tt_size i = 0; i < tq * tk; i++) t[i] = s->scale * dz[i];
        if (c->din[Q].data)
            tt_gemm(TT_GEMM_NN, tq, dk, tk, t, tt_tensor_matrix(c->in[K], b).data,
                    tt_tensor_matrix(c->din[Q], b).data, true);
        if (c->din[K].data)
            tt_gemm(TT_GEMM_TN, tk, dk, tq, t, tt_tensor_matrix(c->in[Q], b).data,
                    tt_tensor_matrix(c->din[K], b).data, true);
    }
}

static bool shapes_fit(tt_tape *tape, tt_tensor q, tt_tensor k, tt_tensor v) {
    const char *what = NULL;
    if (!q.data || !k.data || !v.data) {
        tt_tape_fail(tape, "attention: an input is not on this tape");
        return false;
    }
    if (q.batch != k.batch || k.batch != v.batch) what = "batches differ";
    if (q.cols != k.cols) what = "Q and K differ in d_k";
    if (k.rows != v.rows) what = "K and V differ in the number of keys";
    if (what)
        tt_tape_fail(tape, "attention: Q [%td,%td,%td], K [%td,%td,%td], V [%td,%td,%td]: %s",
                     q.batch, q.rows, q.cols, k.batch, k.rows, k.cols, v.batch, v.rows, v.cols,
                     what);
    return !what;
}

tt_var tt_attention(tt_tape *tape, tt_var q, tt_var k, tt_var v, tt_attention_options options) {
    tt_tensor tq = tt_value(tape, q), tk = tt_value(tape, k), tv = tt_value(tape, v);
    if (!shapes_fit(tape, tq, tk, tv)) return (tt_var){-1, 0};
    if (!isfinite(options.scale))
        return tt_tape_fail(tape, "attention: the scale %g is not finite", options.scale);
    saved *s = tt_tape_alloc(tape, sizeof *s);
    if (!s) return (tt_var){-1, 0};
    s->scale = options.scale;
    s->logits = tt_tape_tensor(tape, tq.batch, tq.rows, tk.rows);
    s->weights = tt_tape_tensor(tape, tq.batch, tq.rows, tk.rows);
    s->dlogits = tt_tape_tensor(tape, tq.batch, tq.rows, tk.rows);
    s->scratch = tt_tape_tensor(tape, 1, tq.rows, tk.rows);
    return tt_custom(tape, "attention", 3, (tt_var[]){q, k, v}, tq.batch, tq.rows, tv.cols,
                     attention_forward, attention_backward, s);
}

tt_tensor tt_attention_logits(const tt_tape *tape, tt_var output) {
    const saved *s = tt_tape_context(tape, output, attention_backward);
    return s ? s->logits : (tt_tensor){0, 0, 0, NULL};
}

tt_tensor tt_attention_weights(const tt_tape *tape, tt_var output) {
    const saved *s = tt_tape_context(tape, output, attention_backward);
    return s ? s->weights : (tt_tensor){0, 0, 0, NULL};
}

tt_tensor tt_attention_logits_grad(const tt_tape *tape, tt_var output) {
    const saved *s = tt_tape_context(tape, output, attention_backward);
    return s ? s->dlogits : (tt_tensor){0, 0, 0, NULL};
}
