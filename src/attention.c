/* attention.c: backward mirrors forward pass by pass, for a block of one entry's queries at a time:
 * what the softmax makes of a row needs that row only, and a block's logits stay in the cache.
 * Where all rows are kept, a block's matrices are views of the whole; else one block's memory
 * serves all, and backward computes Z and P again. Each row, and each sum over rows from block to
 * block, has the same operations in the same order however many rows a block has.
 *
 * The scale rules (tt/scale.h) give logits
 *     Z_ij = f_i a_i b_j S_ij,   S = Q K^T
 * with f from the rule's factor (and its sum of key norms), a and b from the cosine's norms.
 */
#include "tt/attention.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "gemm.h"
#include "softmax.h"
#include "tt/elementary.h"
#include "tt/norm.h"

/* A block has about so many logits, 2 MB a matrix, but not so few rows that copying the keys into
 * panels (gemm.c) costs much beside multiplying by them. */
enum { BLOCK_LOGITS = 1 << 18, BLOCK_LEAST = 32 };

typedef struct saved {
    tt_norms norms;
    tt_mask mask;
    tt_size block; /* rows of a block */
    bool kept;     /* the next four are [B,Tq,Tk]; else [1,block,Tk] */
    tt_tensor logits, weights, dlogits;
    unsigned char *allowed;           /* NULL: all */
    unsigned char *seen;              /* [B,Tk], by any query; NULL: all */
    tt_tensor row_factor, col_factor; /* [B,1,Tq] f_i a_i and [B,1,Tk] b_j */
    tt_tensor row_norm;               /* [B,1,Tq] what f_i a_i divides by, as 1/|q_i| or 1/N_i */
    tt_tensor q, k, v;                /* the inputs, for the tangent */
    tt_tensor scores;                 /* scratch [1,block,Tk] */
    /* Scratch for one entry of the batch. */
    tt_tensor clean_k, clean_v;   /* [1,Tk,d]: rows of keys that nobody sees set to 0 */
    double *key_norm, *key_share; /* [Tk] */
} saved;

enum { Q, K, V, LOGIT_SCALE };

/* A block of queries of one entry of the batch, as pointers to its rows of each matrix. */
typedef struct block {
    tt_size entry, tq, tk, dk, dv;
    bool last; /* of its entry */
    const double *q, *k, *v;
    double *z, *p, *dz;
    double *row_factor, *col_factor; /* f_i a_i [tq] and b_j [Tk] */
    double *row_norm;                /* [tq] */
    const unsigned char *allowed;
} block;

static bool allows(const block *b, tt_size i, tt_size j) {
    return !b->allowed || b->allowed[i * b->tk + j];
}

static const unsigned char *allowed_row(const block *b, tt_size i) {
    return b->allowed ? b->allowed + i * b->tk : NULL;
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

/* Entries of the batch that have something to compute: where there is no query, none, however large
 * the batch. */
static tt_size entries_of(tt_tensor q) {
    return q.rows > 0 ? q.batch : 0;
}

/* All of an entry's queries; of what is not kept there is one block's memory only. */
static block entry_of(const tt_call *c, const saved *s, tt_size n) {
    block e = {.entry = n,
               .tq = c->in[Q].rows,
               .tk = c->in[K].rows,
               .dk = c->in[Q].cols,
               .dv = c->in[V].cols};
    const tt_size kept = s->kept ? n : 0;
    if (s->allowed) e.allowed = s->allowed + kept * e.tq * e.tk;
    e.q = tt_tensor_matrix(c->in[Q], n).data;
    const unsigned char *seen = s->seen ? s->seen + n * e.tk : NULL;
    e.k = without_unseen(seen, e.tk, tt_tensor_matrix(c->in[K], n).data, e.dk, s->clean_k.data);
    e.v = without_unseen(seen, e.tk, tt_tensor_matrix(c->in[V], n).data, e.dv, s->clean_v.data);
    e.z = tt_tensor_matrix(s->logits, kept).data;
    e.p = tt_tensor_matrix(s->weights, kept).data;
    e.dz = tt_tensor_matrix(s->dlogits, kept).data;
    e.row_factor = tt_tensor_matrix(s->row_factor, n).data;
    e.col_factor = tt_tensor_matrix(s->col_factor, n).data;
    e.row_norm = tt_tensor_matrix(s->row_norm, n).data;
    return e;
}

/* The block of them that starts at `first`, its mask spelled out. */
static block block_of(const saved *s, const block *entry, tt_size first) {
    block b = *entry;
    b.last = entry->tq - first <= s->block;
    b.tq = b.last ? entry->tq - first : s->block;
    b.q += first * b.dk;
    b.row_factor += first;
    b.row_norm += first;
    if (s->kept) {
        b.z += first * b.tk;
        b.p += first * b.tk;
        b.dz += first * b.tk;
        if (b.allowed) b.allowed += first * b.tk;
    }
    for (tt_size i = 0; !s->kept && s->allowed && i < b.tq; i++)
        (void)tt_mask_row(&s->mask, b.entry, first + i, entry->tq, b.tk, s->allowed + i * b.tk);
    return b;
}

static double inverse_or_zero(double x) {
    return x == 0 ? 0 : 1 / x;
}

/* Sum over j of dZ_ij Z_ij. A row of dZ sums to 0, so it may be taken over Z - Z of the row's
 * largest weight: without the common offset of the logits nothing large cancels. */
static double row_share(const block *b, tt_size i) {
    const double *z = b->z + i * b->tk, *dz = b->dz + i * b->tk, *p = b->p + i * b->tk;
    double share = 0;
    tt_size m = 0;
    for (tt_size j = 1; j < b->tk; j++)
        if (p[j] > p[m]) m = j;
    for (tt_size j = 0; j < b->tk; j++)
        if (allows(b, i, j)) share += dz[j] * (z[j] - z[m]);
    return share;
}

/* ---- The scale rules' norms: forward, backward, tangent -------------------------------------- */

static void key_norms_forward(const saved *s, const block *entry) {
    if (s->norms == TT_NORMS_NONE) return;
    for (tt_size j = 0; j < entry->tk; j++) {
        s->key_norm[j] = tt_norm(entry->k + j * entry->dk, entry->dk);
        if (s->norms == TT_NORMS_COSINE) entry->col_factor[j] = inverse_or_zero(s->key_norm[j]);
    }
}

/* The factors start as the rule's and 1; norms are multiplied in. */
static void norms_forward(const saved *s, const block *b) {
    if (s->norms == TT_NORMS_NONE) return;
    for (tt_size i = 0; i < b->tq; i++) {
        double divisor = 0;
        if (s->norms == TT_NORMS_COSINE) divisor = tt_norm(b->q + i * b->dk, b->dk);
        if (s->norms == TT_NORMS_KEY_SUM)
            for (tt_size j = 0; j < b->tk; j++)
                if (allows(b, i, j)) divisor += s->key_norm[j];
        b->row_norm[i] = inverse_or_zero(divisor);
        b->row_factor[i] *= b->row_norm[i];
    }
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
 *             over the i that see j
 * The keys' sums over i go on from block to block. */
static void norms_backward(const saved *s, const block *b, double *dq) {
    const bool cosine = s->norms == TT_NORMS_COSINE;
    for (tt_size i = 0; i < b->tq; i++) {
        const double share = row_share(b, i);
        if (cosine && dq) move_along(dq + i * b->dk, b->q + i * b->dk, b->dk, share, true);
        for (tt_size j = 0; j < b->tk; j++) {
            if (!allows(b, i, j)) continue;
            s->key_share[j] +=
                cosine ? b->dz[i * b->tk + j] * b->z[i * b->tk + j] : share * b->row_norm[i];
        }
    }
}

static void key_norms_backward(const saved *s, const block *b, double *dk) {
    for (tt_size j = 0; j < b->tk; j++)
        move_along(dk + j * b->dk, b->k + j * b->dk, b->dk, s->key_share[j],
                   s->norms == TT_NORMS_COSINE);
}

/* x . dx / |x|: how |x| changes; nothing for a zero vector. */
static double norm_change(const double *x, const double *dx, tt_size n) {
    const double inverse = inverse_or_zero(tt_norm(x, n));
    double change = 0;
    for (tt_size d = 0; d < n; d++) change += x[d] * inverse * dx[d];
    return change;
}

static void key_norms_tangent(const saved *s, const block *entry, const double *dk) {
    if (s->norms == TT_NORMS_NONE) return;
    for (tt_size j = 0; j < entry->tk; j++)
        s->key_norm[j] = norm_change(entry->k + j * entry->dk, dk + j * entry->dk, entry->dk);
}

/* What a change of Q and K adds to dZ through the norms:
 *   cosine:   dZ_ij -= Z_ij (d|q_i| / |q_i| + d|k_j| / |k_j|)
 *   key sum:  dZ_ij -= Z_ij dN_i / N_i */
static void norms_tangent(const saved *s, const block *b, const double *dq, double *dz) {
    if (s->norms == TT_NORMS_NONE) return;
    for (tt_size i = 0; i < b->tq; i++) {
        double change = 0;
        if (s->norms == TT_NORMS_COSINE)
            change = norm_change(b->q + i * b->dk, dq + i * b->dk, b->dk);
        for (tt_size j = 0; s->norms == TT_NORMS_KEY_SUM && j < b->tk; j++)
            if (allows(b, i, j)) change += s->key_norm[j];
        for (tt_size j = 0; j < b->tk; j++) {
            double relative = change * b->row_norm[i];
            if (s->norms == TT_NORMS_COSINE) relative += s->key_norm[j] * b->col_factor[j];
            dz[i * b->tk + j] -= b->z[i * b->tk + j] * relative;
        }
    }
}

/* ---- The operation: forward, backward, tangent ----------------------------------------------- */

static void weigh(const block *b) {
    /* 1. S = Q K^T */
    tt_gemm(TT_GEMM_NT, b->tq, b->tk, b->dk, b->q, b->k, b->z, false);
    /* 2. Z = e^tau f a b S; the rows' factors hold e^tau f */
    for (tt_size i = 0; i < b->tq; i++)
        for (tt_size j = 0; j < b->tk; j++)
            b->z[i * b->tk + j] *= b->row_factor[i] * b->col_factor[j];
    /* 3. P = softmax(Z) */
    tt_softmax_rows(b->z, b->allowed, b->tq, b->tk, b->p);
}

static void attention_forward(const tt_call *c) {
    const saved *s = c->context;
    for (tt_size n = 0; n < entries_of(c->in[Q]); n++) {
        const block entry = entry_of(c, s, n);
        double *out = tt_tensor_matrix(c->out, n).data;
        key_norms_forward(s, &entry);
        for (tt_size first = 0; first < entry.tq; first += s->block) {
            const block b = block_of(s, &entry, first);
            norms_forward(s, &b);
            weigh(&b);
            /* 4. O = P V */
            tt_gemm(TT_GEMM_NN, b.tq, b.dv, b.tk, b.p, b.v, out + first * b.dv, false);
        }
    }
}

/* dq is the block's, dk and dv are the entry's; NULL where not wanted. */
static void block_backward(const saved *s, const block *b, const double *dout, double *dq,
                           double *dk, double *dv, double *dtau) {
    double *t = s->scores.data;
    /* 4. O = P V:        dV = P^T dO, dP = dO V^T */
    if (dv) tt_gemm(TT_GEMM_TN, b->tk, b->dv, b->tq, b->p, dout, dv, true);
    tt_gemm(TT_GEMM_NT, b->tq, b->tk, b->dv, dout, b->v, t, false);
    /* 3. P = softmax(Z): dZ = P (dP - sum_j P_j dP_j) */
    for (tt_size i = 0; i < b->tq; i++)
        tt_softmax_row_backward(b->p + i * b->tk, t + i * b->tk, allowed_row(b, i), b->tk,
                                b->dz + i * b->tk);
    /* 2. Z = e^tau f a b S:  dtau = sum of dZ Z, dS = e^tau f a b dZ, and through the norms */
    for (tt_size i = 0; dtau && i < b->tq; i++) *dtau += row_share(b, i);
    for (tt_size i = 0; i < b->tq; i++)
        for (tt_size j = 0; j < b->tk; j++)
            t[i * b->tk + j] = b->row_factor[i] * b->col_factor[j] * b->dz[i * b->tk + j];
    if (s->norms != TT_NORMS_NONE) norms_backward(s, b, dq);
    if (s->norms != TT_NORMS_NONE && b->last && dk) key_norms_backward(s, b, dk);
    /* 1. S = Q K^T:      dQ = dS K, dK = dS^T Q */
    if (dq) tt_gemm(TT_GEMM_NN, b->tq, b->dk, b->tk, t, b->k, dq, true);
    if (dk) tt_gemm(TT_GEMM_TN, b->tk, b->dk, b->tq, t, b->q, dk, true);
}

static double *entry_gradient(const tt_call *c, int input, tt_size n) {
    return c->din[input].data ? tt_tensor_matrix(c->din[input], n).data : NULL;
}

static void attention_backward(const tt_call *c) {
    const saved *s = c->context;
    for (tt_size n = 0; n < entries_of(c->in[Q]); n++) {
        const block entry = entry_of(c, s, n);
        const double *dout = tt_tensor_matrix(c->dout, n).data;
        double *dq = entry_gradient(c, Q, n), *dk = entry_gradient(c, K, n);
        double *dv = entry_gradient(c, V, n);
        if (s->norms != TT_NORMS_NONE)
            memset(s->key_share, 0, (size_t)entry.tk * sizeof *s->key_share);
        for (tt_size first = 0; first < entry.tq; first += s->block) {
            const block b = block_of(s, &entry, first);
            if (!s->kept) weigh(&b);
            block_backward(s, &b, dout + first * b.dv, dq ? dq + first * b.dk : NULL, dk, dv,
                           c->din[LOGIT_SCALE].data);
        }
    }
}

bool tt_attention_tangent(const tt_tape *tape, tt_var output, tt_tensor dq, tt_tensor dk,
                          double dtau, tt_tensor dz) {
    const saved *s = tt_tape_context(tape, output, attention_backward);
    if (!s) return false;
    const tt_call c = {.in = {s->q, s->k, s->v}};
    for (tt_size n = 0; n < entries_of(s->q); n++) {
        const block entry = entry_of(&c, s, n);
        const double *query = tt_tensor_matrix(dq, n).data, *key = tt_tensor_matrix(dk, n).data;
        key_norms_tangent(s, &entry, key);
        for (tt_size first = 0; first < entry.tq; first += s->block) {
            const block b = block_of(s, &entry, first);
            double *out = tt_tensor_matrix(dz, n).data + first * b.tk;
            if (!s->kept) weigh(&b);
            /* 1. S = Q K^T:          dS = dQ K^T + Q dK^T */
            tt_gemm(TT_GEMM_NT, b.tq, b.tk, b.dk, query + first * b.dk, b.k, out, false);
            tt_gemm(TT_GEMM_NT, b.tq, b.tk, b.dk, b.q, key, out, true);
            /* 2. Z = e^tau f a b S:  dZ = e^tau f a b dS + Z dtau, and through the norms */
            for (tt_size i = 0; i < b.tq; i++)
                for (tt_size j = 0; j < b.tk; j++) {
                    const tt_size at = i * b.tk + j;
                    out[at] = b.row_factor[i] * b.col_factor[j] * out[at] + b.z[at] * dtau;
                }
            norms_tangent(s, &b, query + first * b.dk, out);
            for (tt_size at = 0; b.allowed && at < b.tq * b.tk; at++)
                if (!b.allowed[at]) out[at] = 0;
        }
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

/* Reads the mask once: which keys are seen at all, and each row's factor from those it sees. */
static void set_mask_and_factors(saved *s, const tt_attention_options *o, tt_tensor q,
                                 tt_tensor k) {
    for (tt_size n = 0; n < entries_of(q); n++) {
        for (tt_size i = 0; i < q.rows; i++) {
            tt_size visible = k.rows;
            if (s->allowed && s->seen) {
                unsigned char *allowed = s->allowed + (s->kept ? (n * q.rows + i) * k.rows : 0);
                visible = tt_mask_row(&o->mask, n, i, q.rows, k.rows, allowed);
                for (tt_size j = 0; j < k.rows; j++) s->seen[n * k.rows + j] |= allowed[j];
            }
            const tt_scale_row row = {q.cols, visible, k.rows};
            s->row_factor.data[n * q.rows + i] = o->rule ? tt_scale_factor(o->rule, row) : o->scale;
        }
        for (tt_size j = 0; j < k.rows; j++) s->col_factor.data[n * k.rows + j] = 1;
    }
}

/* How many rows a block has and whether all are kept. The keys' gradient through norms is added
 * after all rows: with one block where all are kept, it is the same however many rows there are. */
static void set_blocks(saved *s, tt_size asked, tt_size tq, tt_size tk) {
    const tt_size fit = tk > 0 ? BLOCK_LOGITS / tk : tq;
    s->kept = asked == 0 ? tk == 0 || tq <= TT_ATTENTION_KEPT / tk : asked >= tq;
    s->block = asked > 0 && asked < tq ? asked : fit > BLOCK_LEAST ? fit : BLOCK_LEAST;
    if (s->block > tq || (s->kept && s->norms != TT_NORMS_NONE)) s->block = tq;
}

static saved *save(tt_tape *tape, const tt_attention_options *o, tt_tensor q, tt_tensor k,
                   tt_tensor v) {
    saved *s = tt_tape_alloc(tape, sizeof *s);
    if (!s) return NULL;
    const bool masked = !tt_mask_is_empty(&o->mask);
    s->norms = o->rule ? o->rule->norms : TT_NORMS_NONE;
    s->mask = o->mask;
    s->q = q;
    s->k = k;
    s->v = v;
    set_blocks(s, o->rows, q.rows, k.rows);
    const tt_size entries = s->kept ? q.batch : 1, rows = s->kept ? q.rows : s->block;
    s->logits = tt_tape_tensor(tape, entries, rows, k.rows);
    s->weights = tt_tape_tensor(tape, entries, rows, k.rows);
    s->dlogits = tt_tape_tensor(tape, entries, rows, k.rows);
    s->row_factor = tt_tape_tensor(tape, q.batch, 1, q.rows);
    s->col_factor = tt_tape_tensor(tape, q.batch, 1, k.rows);
    s->row_norm = tt_tape_tensor(tape, q.batch, 1, q.rows);
    s->scores = tt_tape_tensor(tape, 1, s->block, k.rows);
    s->clean_k = tt_tape_tensor(tape, 1, masked ? k.rows : 0, k.cols);
    s->clean_v = tt_tape_tensor(tape, 1, masked ? v.rows : 0, v.cols);
    s->key_norm = tt_tape_tensor(tape, 1, 1, k.rows).data;
    s->key_share = tt_tape_tensor(tape, 1, 1, k.rows).data;
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
    if (options.rows < 0) return tt_tape_fail(tape, "attention: %td rows at a time", options.rows);
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

static const saved *kept(const tt_tape *tape, tt_var output) {
    const saved *s = tt_tape_context(tape, output, attention_backward);
    return s && s->kept ? s : NULL;
}

tt_tensor tt_attention_logits(const tt_tape *tape, tt_var output) {
    const saved *s = kept(tape, output);
    return s ? s->logits : (tt_tensor){0, 0, 0, NULL};
}

tt_tensor tt_attention_weights(const tt_tape *tape, tt_var output) {
    const saved *s = kept(tape, output);
    return s ? s->weights : (tt_tensor){0, 0, 0, NULL};
}

tt_tensor tt_attention_logits_grad(const tt_tape *tape, tt_var output) {
    const saved *s = kept(tape, output);
    return s ? s->dlogits : (tt_tensor){0, 0, 0, NULL};
}
