/* attention.c: backward mirrors forward pass by pass, for one entry of the batch at a time. The
 * scale rules (tt/scale.h) give logits Z_ij = f_i a_i b_j S_ij,   S = Q K^T with f from the rule's
 * factor (and its sum of key norms), a and b from the cosine's norms.
 */
#include "tt/attention.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "gemm.h"
#include "softmax.h"
#include "tt/elementary.h"
#include "tt/norm.h"

typedef struct saved {
    tt_norms norms;
    tt_tensor logits, weights, dlogits; /* [B,Tq,Tk] */
    unsigned char *allowed;             /* [B,Tq,Tk]; NULL: all */
    unsigned char *seen;                /* [B,Tk], by any query; NULL: all */
    tt_tensor row_factor, col_factor;   /* [B,1,Tq] f_i a_i and [B,1,Tk] b_j */
    tt_tensor row_norm;                 /* [B,1,Tq] what f_i a_i divides by, as 1/|q_i| or 1/N_i */
    tt_tensor q, k, v;                  /* the inputs, for the tangent */
    /* Scratch for one entry of the batch. */
    tt_tensor scores;               /* [1,Tq,Tk] */
    tt_tensor clean_k, clean_v;     /* [1,Tk,d]: rows of keys that nobody sees set to 0 */
    double *key_norm, *query_share; /* [Tk], [Tq] */
} saved;

enum { Q, K, V, LOGIT_SCALE };

/* One entry of the batch, as pointers to its matrices. */
typedef struct entry {
    tt_size tq, tk, dk, dv;
    const double *q, *k, *v;
    double *z, *p, *dz;
    double *row_factor, *col_factor; /* f_i a_i [Tq] and b_j [Tk] */
    double *row_norm;                /* [Tq] */
    const unsigned char *allowed;
} entry;

static bool allows(const entry *e, tt_size i, tt_size j) {
    return !e->allowed || e->allowed[i * e->tk + j];
}

static const unsigned char *allowed_row(const entry *e, tt_size i) {
    return e->allowed ? e->allowed + i * e->tk : NULL;
}

/* A copy of the rows of K or V in which keys that no query sees are 0: 0 * NaN would be NaN. */
static const double *without_unseen(const unsigned char *seen, tt_size keys, const double *rows,
                                    tt_size width, double *clean) {
    if (!seen) return rows;
    for (tt_size j = 0; j < keys; j++) {
        if (seen[j])
            memcpy(clean + j * width, rows + j * width, (size_t)width * sizeof *clean);
        else
            memset(clean + j * width, 0, (size_t)width * sizeof *clean);
    }
    return clean;
}

static entry entry_of(const tt_call *c, const saved *s, tt_size b) {
    entry e = {.tq = c->in[Q].rows, .tk = c->in[K].rows, .dk = c->in[Q].cols, .dv = c->in[V].cols};
    if (s->allowed) e.allowed = s->allowed + b * e.tq * e.tk;
    e.q = tt_tensor_matrix(c->in[Q], b).data;
    const unsigned char *seen = s->seen ? s->seen + b * e.tk : NULL;
    e.k = without_unseen(seen, e.tk, tt_tensor_matrix(c->in[K], b).data, e.dk, s->clean_k.data);
    e.v = without_unseen(seen, e.tk, tt_tensor_matrix(c->in[V], b).data, e.dv, s->clean_v.data);
    e.z = tt_tensor_matrix(s->logits, b).data;
    e.p = tt_tensor_matrix(s->weights, b).data;
    e.dz = tt_tensor_matrix(s->dlogits, b).data;
    e.row_factor = tt_tensor_matrix(s->row_factor, b).data;
    e.col_factor = tt_tensor_matrix(s->col_factor, b).data;
    e.row_norm = tt_tensor_matrix(s->row_norm, b).data;
    return e;
}

static double inverse_or_zero(double x) {
    return x == 0 ? 0 : 1 / x;
}

/* Sum over j of dZ_ij Z_ij. A row of dZ sums to 0, so it may be taken over Z - Z of the row's
 * largest weight: without the common offset of the logits nothing large cancels. */
static double row_share(const entry *e, tt_size i) {
    const double *z = e->z + i * e->tk, *dz = e->dz + i * e->tk, *p = e->p + i * e->tk;
    double share = 0;
    tt_size m = 0;
    for (tt_size j = 1; j < e->tk; j++)
        if (p[j] > p[m]) m = j;
    for (tt_size j = 0; j < e->tk; j++)
        if (allows(e, i, j)) share += dz[j] * (z[j] - z[m]);
    return share;
}

/* ---- The scale rules' norms: forward, backward, tangent -------------------------------------- */

/* The factors start as the rule's and 1; norms are multiplied in. */
static void norms_forward(const saved *s, const entry *e) {
    if (s->norms == TT_NORMS_NONE) return;
    for (tt_size j = 0; j < e->tk; j++) s->key_norm[j] = tt_norm(e->k + j * e->dk, e->dk);
    for (tt_size i = 0; i < e->tq; i++) {
        double divisor = 0;
        if (s->norms == TT_NORMS_COSINE) divisor = tt_norm(e->q + i * e->dk, e->dk);
        if (s->norms == TT_NORMS_KEY_SUM)
            for (tt_size j = 0; j < e->tk; j++)
                if (allows(e, i, j)) divisor += s->key_norm[j];
        e->row_norm[i] = inverse_or_zero(divisor);
        e->row_factor[i] *= e->row_norm[i];
    }
    if (s->norms == TT_NORMS_COSINE)
        for (tt_size j = 0; j < e->tk; j++) e->col_factor[j] = inverse_or_zero(s->key_norm[j]);
}

/* dx -= share x / |x|, or share x / |x|^2 where `squared`; nothing for a zero vector. */
static void move_along(double *dx, const double *x, tt_size n, double share, bool squared) {
    const double inverse = inverse_or_zero(tt_norm(x, n));
    const double by = squared ? share * inverse : share;
    for (tt_size d = 0; d < n; d++) dx[d] -= by * (x[d] * inverse);
}

/* What flows through the norms, from t_ij = dZ_ij Z_ij:
 *   cosine:   Z falls as 1/|q_i| and 1/|k_j|:  dq_i -= (sum_j t_ij) q_i / |q_i|^2,
 *                                              dk_j -= (sum_i t_ij) k_j / |k_j|^2
 *   key sum:  Z falls as 1/N_i, N_i = sum |k_j|:  dk_j -= (sum_i (sum_l t_il) / N_i) k_j / |k_j|,
 *             over the i that see j */
static void norms_backward(const saved *s, const entry *e, double *dq, double *dk) {
    for (tt_size i = 0; i < e->tq; i++) {
        s->query_share[i] = row_share(e, i);
        if (s->norms == TT_NORMS_COSINE && dq)
            move_along(dq + i * e->dk, e->q + i * e->dk, e->dk, s->query_share[i], true);
    }
    for (tt_size j = 0; dk && j < e->tk; j++) {
        double share = 0;
        for (tt_size i = 0; i < e->tq; i++) {
            if (!allows(e, i, j)) continue;
            share += s->norms == TT_NORMS_COSINE ? e->dz[i * e->tk + j] * e->z[i * e->tk + j]
                                                 : s->query_share[i] * e->row_norm[i];
        }
        move_along(dk + j * e->dk, e->k + j * e->dk, e->dk, share, s->norms == TT_NORMS_COSINE);
    }
}

/* x . dx / |x|: how |x| changes; nothing for a zero vector. */
static double norm_change(const double *x, const double *dx, tt_size n) {
    const double inverse = inverse_or_zero(tt_norm(x, n));
    double change = 0;
    for (tt_size d = 0; d < n; d++) change += x[d] * inverse * dx[d];
    return change;
}

/* What a change of Q and K adds to dZ through the norms:
 *   cosine:   dZ_ij -= Z_ij (d|q_i| / |q_i| + d|k_j| / |k_j|)
 *   key sum:  dZ_ij -= Z_ij dN_i / N_i */
static void norms_tangent(const saved *s, const entry *e, const double *dq, const double *dk,
                          double *dz) {
    if (s->norms == TT_NORMS_NONE) return;
    for (tt_size j = 0; j < e->tk; j++)
        s->key_norm[j] = norm_change(e->k + j * e->dk, dk + j * e->dk, e->dk);
    for (tt_size i = 0; i < e->tq; i++) {
        double change = 0;
        if (s->norms == TT_NORMS_COSINE)
            change = norm_change(e->q + i * e->dk, dq + i * e->dk, e->dk);
        for (tt_size j = 0; s->norms == TT_NORMS_KEY_SUM && j < e->tk; j++)
            if (allows(e, i, j)) change += s->key_norm[j];
        for (tt_size j = 0; j < e->tk; j++) {
            double relative = change * e->row_norm[i];
            if (s->norms == TT_NORMS_COSINE) relative += s->key_norm[j] * e->col_factor[j];
            dz[i * e->tk + j] -= e->z[i * e->tk + j] * relative;
        }
    }
}

/* ---- The operation: forward, backward, tangent ----------------------------------------------- */

static void attention_forward(const tt_call *c) {
    const saved *s = c->context;
    for (tt_size b = 0; b < c->out.batch; b++) {
        const entry e = entry_of(c, s, b);
        /* 1. S = Q K^T */
        tt_gemm(TT_GEMM_NT, e.tq, e.tk, e.dk, e.q, e.k, e.z, false);
        /* 2. Z = e^tau f a b S; the rows' factors hold e^tau f */
        norms_forward(s, &e);
        for (tt_size i = 0; i < e.tq; i++)
            for (tt_size j = 0; j < e.tk; j++)
                e.z[i * e.tk + j] *= e.row_factor[i] * e.col_factor[j];
        /* 3. P = softmax(Z) */
        for (tt_size i = 0; i < e.tq; i++)
            tt_softmax_row(e.z + i * e.tk, allowed_row(&e, i), e.tk, e.p + i * e.tk);
        /* 4. O = P V */
        tt_gemm(TT_GEMM_NN, e.tq, e.dv, e.tk, e.p, e.v, tt_tensor_matrix(c->out, b).data, false);
    }
}

static void attention_backward(const tt_call *c) {
    const saved *s = c->context;
    double *t = s->scores.data;
    for (tt_size b = 0; b < c->out.batch; b++) {
        const entry e = entry_of(c, s, b);
        const double *out_grad = tt_tensor_matrix(c->dout, b).data;
        double *dq = c->din[Q].data ? tt_tensor_matrix(c->din[Q], b).data : NULL;
        double *dk = c->din[K].data ? tt_tensor_matrix(c->din[K], b).data : NULL;
        double *dv = c->din[V].data ? tt_tensor_matrix(c->din[V], b).data : NULL;
        /* 4. O = P V:        dV = P^T dO, dP = dO V^T */
        if (dv) tt_gemm(TT_GEMM_TN, e.tk, e.dv, e.tq, e.p, out_grad, dv, true);
        tt_gemm(TT_GEMM_NT, e.tq, e.tk, e.dv, out_grad, e.v, t, false);
        /* 3. P = softmax(Z): dZ = P (dP - sum_j P_j dP_j) */
        for (tt_size i = 0; i < e.tq; i++)
            tt_softmax_row_backward(e.p + i * e.tk, t + i * e.tk, allowed_row(&e, i), e.tk,
                                    e.dz + i * e.tk);
        /* 2. Z = e^tau f a b S:  dtau = sum of dZ Z, dS = e^tau f a b dZ, and through the norms */
        for (tt_size i = 0; c->din[LOGIT_SCALE].data && i < e.tq; i++)
            c->din[LOGIT_SCALE].data[0] += row_share(&e, i);
        for (tt_size i = 0; i < e.tq; i++)
            for (tt_size j = 0; j < e.tk; j++)
                t[i * e.tk + j] = e.row_factor[i] * e.col_factor[j] * e.dz[i * e.tk + j];
        if (s->norms != TT_NORMS_NONE) norms_backward(s, &e, dq, dk);
        /* 1. S = Q K^T:      dQ = dS K, dK = dS^T Q */
        if (dq) tt_gemm(TT_GEMM_NN, e.tq, e.dk, e.tk, t, e.k, dq, true);
        if (dk) tt_gemm(TT_GEMM_TN, e.tk, e.dk, e.tq, t, e.q, dk, true);
    }
}

bool tt_attention_tangent(const tt_tape *tape, tt_var output, tt_tensor dq, tt_tensor dk,
                          double dtau, tt_tensor dz) {
    const saved *s = tt_tape_context(tape, output, attention_backward);
    if (!s) return false;
    const tt_call c = {.in = {s->q, s->k, s->v}};
    for (tt_size b = 0; b < s->q.batch; b++) {
        const entry e = entry_of(&c, s, b);
        const double *query = tt_tensor_matrix(dq, b).data, *key = tt_tensor_matrix(dk, b).data;
        double *out = tt_tensor_matrix(dz, b).data;
        /* 1. S = Q K^T:          dS = dQ K^T + Q dK^T */
        tt_gemm(TT_GEMM_NT, e.tq, e.tk, e.dk, query, e.k, out, false);
        tt_gemm(TT_GEMM_NT, e.tq, e.tk, e.dk, e.q, key, out, true);
        /* 2. Z = e^tau f a b S:  dZ = e^tau f a b dS + Z dtau, and through the norms */
        for (tt_size i = 0; i < e.tq; i++)
            for (tt_size j = 0; j < e.tk; j++) {
                const tt_size at = i * e.tk + j;
                out[at] = e.row_factor[i] * e.col_factor[j] * out[at] + e.z[at] * dtau;
            }
        norms_tangent(s, &e, query, key, out);
        for (tt_size at = 0; e.allowed && at < e.tq * e.tk; at++)
            if (!e.allowed[at]) out[at] = 0;
    }
    return true;
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

/* Spells the mask out, and sets each row's factor from the keys that it sees. */
static void set_mask_and_factors(saved *s, const tt_attention_options *o, tt_tensor q,
                                 tt_tensor k) {
    for (tt_size b = 0; b < q.batch; b++) {
        for (tt_size i = 0; i < q.rows; i++) {
            tt_size visible = k.rows;
            if (s->allowed && s->seen) {
                unsigned char *allowed = s->allowed + (b * q.rows + i) * k.rows;
                visible = tt_mask_row(&o->mask, b, i, q.rows, k.rows, allowed);
                for (tt_size j = 0; j < k.rows; j++) s->seen[b * k.rows + j] |= allowed[j];
            }
            const tt_scale_row row = {q.cols, visible, k.rows};
            s->row_factor.data[b * q.rows + i] = o->rule ? tt_scale_factor(o->rule, row) : o->scale;
        }
        for (tt_size j = 0; j < k.rows; j++) s->col_factor.data[b * k.rows + j] = 1;
    }
}

static saved *save(tt_tape *tape, const tt_attention_options *o, tt_tensor q, tt_tensor k,
                   tt_tensor v) {
    saved *s = tt_tape_alloc(tape, sizeof *s);
    if (!s) return NULL;
    const bool masked = !tt_mask_is_empty(&o->mask);
    s->norms = o->rule ? o->rule->norms : TT_NORMS_NONE;
    s->q = q;
    s->k = k;
    s->v = v;
    s->logits = tt_tape_tensor(tape, q.batch, q.rows, k.rows);
    s->weights = tt_tape_tensor(tape, q.batch, q.rows, k.rows);
    s->dlogits = tt_tape_tensor(tape, q.batch, q.rows, k.rows);
    s->row_factor = tt_tape_tensor(tape, q.batch, 1, q.rows);
    s->col_factor = tt_tape_tensor(tape, q.batch, 1, k.rows);
    s->row_norm = tt_tape_tensor(tape, q.batch, 1, q.rows);
    s->scores = tt_tape_tensor(tape, 1, q.rows, k.rows);
    s->clean_k = tt_tape_tensor(tape, 1, masked ? k.rows : 0, k.cols);
    s->clean_v = tt_tape_tensor(tape, 1, masked ? v.rows : 0, v.cols);
    s->key_norm = tt_tape_tensor(tape, 1, 1, k.rows).data;
    s->query_share = tt_tape_tensor(tape, 1, 1, q.rows).data;
    s->allowed = masked ? tt_tape_alloc(tape, (size_t)tt_tensor_count(s->logits)) : NULL;
    s->seen = masked ? tt_tape_alloc(tape, (size_t)(k.batch * k.rows)) : NULL;
    if (tt_tape_error(tape)) return NULL;
    if (s->seen) memset(s->seen, 0, (size_t)(k.batch * k.rows));
    set_mask_and_factors(s, o, q, k);
    return s;
}

tt_var tt_attention(tt_tape *tape, tt_var q, tt_var k, tt_var v, tt_attention_options options) {
    tt_tensor q_value = tt_value(tape, q), k_value = tt_value(tape, k), v_value = tt_value(tape, v);
    if (!shapes_fit(tape, q_value, k_value, v_value)) return (tt_var){-1, 0};
    if (!options.rule && options.scale == 0)
        return tt_tape_fail(tape, "attention: no scale given (a factor of 0 takes a rule)");
    tt_var in[] = {q, k, v, {-1, 0}};
    double e_tau = 1;
    if (options.logit_scale) {
        in[LOGIT_SCALE] = *options.logit_scale;
        const tt_tensor tau = tt_value(tape, in[LOGIT_SCALE]);
        if (!tau.data || tt_tensor_count(tau) != 1)
            return tt_tape_fail(tape, "attention: the logit scale is not one number on this tape");
        e_tau = tt_exp(tau.data[0]);
    }
    saved *s = save(tape, &options, q_value, k_value, v_value);
    if (!s) return (tt_var){-1, 0};
    for (tt_size i = 0; i < tt_tensor_count(s->row_factor); i++) {
        if (!isfinite(s->row_factor.data[i]))
            return tt_tape_fail(tape, "attention: the scale %g is not finite",
                                s->row_factor.data[i]);
        s->row_factor.data[i] *= e_tau; /* may overflow: what is learned may diverge */
    }
    return tt_custom(tape, "attention", options.logit_scale ? 4 : 3, in, q_value.batch,
                     q_value.rows, v_value.cols, attention_forward, attention_backward, s);
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
