/* ops.c: each operation's forward and backward side by side, its recorder below them. */
#include "tt/ops.h"

#include <math.h>
#include <stdbool.h>

#include "gemm.h"
#include "kernels.h"
#include "softmax.h"

static bool same_shape(tt_tensor a, tt_tensor b) {
    return a.batch == b.batch && a.rows == b.rows && a.cols == b.cols;
}

/* The shape of both operands of a two-input op, or an error that names both. */
static bool agree(tt_tape *tape, const char *name, tt_tensor a, tt_tensor b) {
    if (!a.data || !b.data) {
        tt_tape_fail(tape, "%s: an input is not on this tape", name);
        return false;
    }
    if (!same_shape(a, b)) {
        tt_tape_fail(tape, "%s: [%td,%td,%td] and [%td,%td,%td]: shapes differ", name, a.batch,
                     a.rows, a.cols, b.batch, b.rows, b.cols);
        return false;
    }
    return true;
}

/* ---- matmul ---------------------------------------------------------------------------------- */

/* A product of stacks. Where B is one matrix for the whole batch, the batch of A is only more rows:
 * the stack is then one product of one [B*m, k] matrix. */
typedef struct product {
    tt_size count, m, n, k;         /* `count` products of [m,k] with [k,n] */
    tt_size a_step, b_step, c_step; /* elements from one matrix of a stack to the next */
} product;

static product product_of(const tt_call *c, tt_size k) {
    tt_size m = c->out.rows, n = c->out.cols;
    if (tt_tensor_count(c->out) == 0) return (product){0, 0, 0, 0, 0, 0, 0}; /* however many rows */
    if (c->in[1].batch == 1) return (product){1, c->out.batch * m, n, k, 0, 0, 0};
    return (product){c->out.batch, m, n, k, m * k, k * n, m * n};
}

static void matmul_forward(const tt_call *c) {
    product p = product_of(c, c->in[0].cols);
    for (tt_size i = 0; i < p.count; i++) /* C = A B */
        tt_gemm(TT_GEMM_NN, p.m, p.n, p.k, c->in[0].data + i * p.a_step,
                c->in[1].data + i * p.b_step, c->out.data + i * p.c_step, false);
}

static void matmul_backward(const tt_call *c) {
    product p = product_of(c, c->in[0].cols);
    for (tt_size i = 0; i < p.count; i++) {
        const double *dc = c->dout.data + i * p.c_step;
        if (c->din[0].data) /* dA = dC B^T */
            tt_gemm(TT_GEMM_NT, p.m, p.k, p.n, dc, c->in[1].data + i * p.b_step,
                    c->din[0].data + i * p.a_step, true);
        if (c->din[1].data) /* dB = A^T dC */
            tt_gemm(TT_GEMM_TN, p.k, p.n, p.m, c->in[0].data + i * p.a_step, dc,
                    c->din[1].data + i * p.b_step, true);
    }
}

static void matmul_nt_forward(const tt_call *c) {
    product p = product_of(c, c->in[0].cols);
    for (tt_size i = 0; i < p.count; i++) /* C = A B^T */
        tt_gemm(TT_GEMM_NT, p.m, p.n, p.k, c->in[0].data + i * p.a_step,
                c->in[1].data + i * p.b_step, c->out.data + i * p.c_step, false);
}

static void matmul_nt_backward(const tt_call *c) {
    product p = product_of(c, c->in[0].cols);
    for (tt_size i = 0; i < p.count; i++) {
        const double *dc = c->dout.data + i * p.c_step;
        if (c->din[0].data) /* dA = dC B */
            tt_gemm(TT_GEMM_NN, p.m, p.k, p.n, dc, c->in[1].data + i * p.b_step,
                    c->din[0].data + i * p.a_step, true);
        if (c->din[1].data) /* dB = dC^T A */
            tt_gemm(TT_GEMM_TN, p.n, p.k, p.m, dc, c->in[0].data + i * p.a_step,
                    c->din[1].data + i * p.b_step, true);
    }
}

/* Checks the shapes of a product whose right side has inner size b_inner and n columns. */
static bool can_multiply(tt_tape *tape, const char *name, tt_tensor a, tt_tensor b,
                         tt_size b_inner) {
    if (!a.data || !b.data) {
        tt_tape_fail(tape, "%s: an input is not on this tape", name);
        return false;
    }
    if (a.cols != b_inner) {
        tt_tape_fail(tape, "%s: [%td,%td,%td] x [%td,%td,%td]: inner sizes %td and %td differ",
                     name, a.batch, a.rows, a.cols, b.batch, b.rows, b.cols, a.cols, b_inner);
        return false;
    }
    if (b.batch != 1 && b.batch != a.batch) {
        tt_tape_fail(tape, "%s: [%td,%td,%td] x [%td,%td,%td]: batches %td and %td differ", name,
                     a.batch, a.rows, a.cols, b.batch, b.rows, b.cols, a.batch, b.batch);
        return false;
    }
    return true;
}

tt_var tt_matmul(tt_tape *tape, tt_var a, tt_var b) {
    tt_tensor ta = tt_value(tape, a), tb = tt_value(tape, b);
    if (!can_multiply(tape, "matmul", ta, tb, tb.rows)) return (tt_var){-1, 0};
    return tt_custom(tape, "matmul", 2, (tt_var[]){a, b}, ta.batch, ta.rows, tb.cols,
                     matmul_forward, matmul_backward, NULL);
}

tt_var tt_matmul_nt(tt_tape *tape, tt_var a, tt_var b) {
    tt_tensor ta = tt_value(tape, a), tb = tt_value(tape, b);
    if (!can_multiply(tape, "matmul_nt", ta, tb, tb.cols)) return (tt_var){-1, 0};
    return tt_custom(tape, "matmul_nt", 2, (tt_var[]){a, b}, ta.batch, ta.rows, tb.rows,
                     matmul_nt_forward, matmul_nt_backward, NULL);
}

/* ---- add ------------------------------------------------------------------------------------- */

static void add_forward(const tt_call *c) {
    tt_size count = tt_tensor_count(c->out);
    for (tt_size i = 0; i < count; i++) c->out.data[i] = c->in[0].data[i] + c->in[1].data[i];
}

static void add_backward(const tt_call *c) {
    tt_size count = tt_tensor_count(c->out);
    for (int side = 0; side < 2; side++)
        if (c->din[side].data)
            for (tt_size i = 0; i < count; i++) c->din[side].data[i] += c->dout.data[i];
}

tt_var tt_add(tt_tape *tape, tt_var a, tt_var b) {
    tt_tensor ta = tt_value(tape, a), tb = tt_value(tape, b);
    if (!agree(tape, "add", ta, tb)) return (tt_var){-1, 0};
    return tt_custom(tape, "add", 2, (tt_var[]){a, b}, ta.batch, ta.rows, ta.cols, add_forward,
                     add_backward, NULL);
}

/* ---- product with a number ------------------------------------------------------------------- */

static void mul_scalar_forward(const tt_call *c) {
    const double s = *(const double *)c->context;
    tt_size count = tt_tensor_count(c->out);
    for (tt_size i = 0; i < count; i++) c->out.data[i] = s * c->in[0].data[i];
}

static void mul_scalar_backward(const tt_call *c) {
    const double s = *(const double *)c->context;
    tt_size count = tt_tensor_count(c->out);
    if (!c->din[0].data) return;
    for (tt_size i = 0; i < count; i++) c->din[0].data[i] += s * c->dout.data[i];
}

tt_var tt_mul_scalar(tt_tape *tape, tt_var a, double s) {
    tt_tensor t = tt_value(tape, a);
    if (!isfinite(s)) return tt_tape_fail(tape, "mul_scalar: the factor %g is not finite", s);
    double *context = tt_tape_alloc(tape, sizeof *context);
    if (!context) return (tt_var){-1, 0};
    *context = s;
    return tt_custom(tape, "mul_scalar", 1, &a, t.batch, t.rows, t.cols, mul_scalar_forward,
                     mul_scalar_backward, context);
}

/* ---- softmax --------------------------------------------------------------------------------- */

static void softmax_forward(const tt_call *c) {
    const tt_size n = c->out.cols;
    tt_softmax_rows(c->in[0].data, NULL, c->out.batch * c->out.rows, n, c->out.data);
}

static void softmax_backward(const tt_call *c) {
    const tt_size n = c->out.cols;
    double *dz = c->context; /* one row */
    if (!c->din[0].data || n == 0) return;
    for (tt_size r = 0; r < c->out.batch * c->out.rows; r++) {
        tt_softmax_row_backward(c->out.data + r * n, c->dout.data + r * n, NULL, n, dz);
        for (tt_size j = 0; j < n; j++) c->din[0].data[r * n + j] += dz[j];
    }
}

tt_var tt_softmax(tt_tape *tape, tt_var z) {
    tt_tensor t = tt_value(tape, z);
    double *row = tt_tape_alloc(tape, (size_t)t.cols * sizeof *row);
    if (!row) return (tt_var){-1, 0};
    return tt_custom(tape, "softmax", 1, &z, t.batch, t.rows, t.cols, softmax_forward,
                     softmax_backward, row);
}

/* ---- mean squared error ---------------------------------------------------------------------- */

static void mse_forward(const tt_call *c) {
    tt_size count = tt_tensor_count(c->in[0]);
    const double sum =
        tt_kernels_here()->squared_differences(c->in[0].data, c->in[1].data, count, 0);
    c->out.data[0] = count > 0 ? sum / (double)count : 0;
}

static void mse_backward(const tt_call *c) {
    tt_size count = tt_tensor_count(c->in[0]);
    for (tt_size i = 0; i < count; i++) {
        double difference = c->in[0].data[i] - c->in[1].data[i];
        double da = 2 * difference / (double)count * c->dout.data[0];
        if (c->din[0].data) c->din[0].data[i] += da;
        if (c->din[1].data) c->din[1].data[i] -= da;
    }
}

tt_var tt_mse(tt_tape *tape, tt_var a, tt_var b) {
    if (!agree(tape, "mse", tt_value(tape, a), tt_value(tape, b))) return (tt_var){-1, 0};
    return tt_custom(tape, "mse", 2, (tt_var[]){a, b}, 1, 1, 1, mse_forward, mse_backward, NULL);
}

/* ---- dot with a constant --------------------------------------------------------------------- */

static void dot_forward(const tt_call *c) {
    const double *w = c->context;
    tt_size count = tt_tensor_count(c->in[0]);
    double sum = 0;
    for (tt_size i = 0; i < count; i++) sum += w[i] * c->in[0].data[i];
    c->out.data[0] = sum;
}

static void dot_backward(const tt_call *c) {
    const double *w = c->context;
    tt_size count = tt_tensor_count(c->in[0]);
    if (!c->din[0].data) return;
    for (tt_size i = 0; i < count; i++) c->din[0].data[i] += w[i] * c->dout.data[0];
}

tt_var tt_dot(tt_tape *tape, tt_var a, tt_tensor w) {
    if (!w.data) return tt_tape_fail(tape, "dot: the constant has no data");
    if (!agree(tape, "dot", tt_value(tape, a), w)) return (tt_var){-1, 0};
    return tt_custom(tape, "dot", 1, &a, 1, 1, 1, dot_forward, dot_backward, w.data);
}
