#include "gradcheck/faulty.h"

#include <math.h>

#include "tt/elementary.h"

const char *fault_name(int i) {
    static const char *const NAMES[FAULTS + 1] = {
        [FAULT_NONE] = "none",
        [FAULT_FLIPPED_SIGN] = "flipped-sign",
        [FAULT_MISSING_SCALE] = "missing-scale",
        [FAULT_MISSING_SUM] = "missing-sum",
        [FAULT_SWAPPED] = "swapped",
        [FAULT_MASK_FORGOTTEN] = "mask-forgotten",
    };
    return NAMES[i];
}

typedef struct settings {
    double scale;
    fault fault;
    double *p, *dz; /* [T,T] for one entry of the batch */
} settings;

enum { Q, K, V };

/* P = softmax(s Q K^T) over the keys j <= i, or over all of them. */
static void weights(const tt_call *c, const settings *s, tt_size b, bool masked) {
    const tt_size t = c->in[Q].rows, d = c->in[Q].cols;
    const double *q = tt_tensor_matrix(c->in[Q], b).data, *k = tt_tensor_matrix(c->in[K], b).data;
    for (tt_size i = 0; i < t; i++) {
        const tt_size keys = masked ? i + 1 : t;
        double largest = -INFINITY, sum = 0, *p = s->p + i * t;
        for (tt_size j = 0; j < t; j++) {
            p[j] = 0;
            for (tt_size e = 0; e < d; e++) p[j] += q[i * d + e] * k[j * d + e];
            p[j] *= s->scale;
            if (j < keys) largest = fmax(largest, p[j]);
        }
        for (tt_size j = 0; j < t; j++) {
            p[j] = j < keys ? tt_exp(p[j] - largest) : 0;
            sum += p[j];
        }
        for (tt_size j = 0; j < t; j++) p[j] /= sum;
    }
}

static void forward(const tt_call *c) {
    const settings *s = c->context;
    const tt_size t = c->in[Q].rows, dv = c->in[V].cols;
    for (tt_size b = 0; b < c->out.batch; b++) {
        const double *v = tt_tensor_matrix(c->in[V], b).data;
        double *o = tt_tensor_matrix(c->out, b).data;
        weights(c, s, b, true);
        for (tt_size i = 0; i < t * dv; i++) o[i] = 0;
        for (tt_size i = 0; i < t; i++)
            for (tt_size j = 0; j < t; j++)
                for (tt_size e = 0; e < dv; e++) o[i * dv + e] += s->p[i * t + j] * v[j * dv + e];
    }
}

/* dZ = P (dP - sum_j P_j dP_j), dP = dO V^T; and dV += P^T dO on the way. */
static void through_the_softmax(const tt_call *c, const settings *s, tt_size b) {
    const tt_size t = c->in[Q].rows, n = c->in[V].cols;
    const double *v = tt_tensor_matrix(c->in[V], b).data;
    const double *out_grad = tt_tensor_matrix(c->dout, b).data;
    double *dv = c->din[V].data ? tt_tensor_matrix(c->din[V], b).data : NULL;
    weights(c, s, b, s->fault != FAULT_MASK_FORGOTTEN);
    for (tt_size i = 0; i < t; i++) {
        double sum = 0;
        for (tt_size j = 0; j < t; j++) {
            double p = s->p[i * t + j], dp = 0;
            for (tt_size e = 0; e < n; e++) {
                dp += out_grad[i * n + e] * v[j * n + e];
                if (dv) dv[j * n + e] += p * out_grad[i * n + e];
            }
            s->dz[i * t + j] = dp;
            sum += p * dp;
        }
        if (s->fault == FAULT_MISSING_SUM) sum = 0;
        for (tt_size j = 0; j < t; j++)
            s->dz[i * t + j] = s->p[i * t + j] * (s->dz[i * t + j] - sum);
    }
}

static void backward(const tt_call *c) {
    const settings *s = c->context;
    const tt_size t = c->in[Q].rows, d = c->in[Q].cols;
    const bool swapped = s->fault == FAULT_SWAPPED;
    const double to_k = s->fault == FAULT_MISSING_SCALE ? 1 : s->scale;
    const double to_q = s->fault == FAULT_FLIPPED_SIGN ? -to_k : to_k;
    for (tt_size b = 0; b < c->out.batch; b++) {
        const double *q = tt_tensor_matrix(c->in[Q], b).data;
        const double *k = tt_tensor_matrix(c->in[K], b).data;
        tt_tensor dq = c->din[swapped ? K : Q], dk = c->din[swapped ? Q : K];
        through_the_softmax(c, s, b);
        for (tt_size i = 0; i < t; i++)
            for (tt_size j = 0; j < t; j++)
                for (tt_size e = 0; e < d; e++) {
                    double dz = s->dz[i * t + j];
                    if (dq.data)
                        tt_tensor_matrix(dq, b).data[i * d + e] += to_q * dz * k[j * d + e];
                    if (dk.data)
                        tt_tensor_matrix(dk, b).data[j * d + e] += to_k * dz * q[i * d + e];
                }
    }
}

tt_var faulty_attention(tt_tape *tape, tt_var q, tt_var k, tt_var v, double scale, fault f) {
    tt_tensor tq = tt_value(tape, q), tk = tt_value(tape, k), tv = tt_value(tape, v);
    if (tq.batch != tk.batch || tq.rows != tk.rows || tq.cols != tk.cols || tk.batch != tv.batch ||
        tk.rows != tv.rows)
        return tt_tape_fail(tape, "faulty attention: Q, K [B,T,d_k] and V [B,T,d_v] do not fit");
    settings *s = tt_tape_alloc(tape, sizeof *s);
    if (!s) return (tt_var){-1, 0};
    *s = (settings){scale, f, tt_tape_tensor(tape, 1, tq.rows, tq.rows).data,
                    tt_tape_tensor(tape, 1, tq.rows, tq.rows).data};
    return tt_custom(tape, "faulty attention", 3, (tt_var[]){q, k, v}, tq.batch, tq.rows, tv.cols,
                     forward, backward, s);
}
