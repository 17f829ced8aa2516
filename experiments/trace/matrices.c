/* matrices.c: logits, weights, output and every gradient are those of tt_attention; only S, E and
 * its rows' sums, dP and dS, which the operation does not keep, are computed here.
 */
#include "trace/matrices.h"

#include <math.h>
#include <stddef.h>

#include "tt/attention.h"
#include "tt/elementary.h"
#include "tt/ops.h"

const char *trace_heading(int step, bool norms) {
    static const char *const HEADINGS[] = {
        "0. Tokens X and the projections: Q = X W_q, K = X W_k, V = X W_v",
        "1. Queries Q, keys K, values V",
        "2. Scores: how well each query fits each key",
        "3. Logits Z, what the softmax sees",
        "4. E = exp(Z - max), max the largest logit of the row",
        "5. The sum of each row of E",
        "6. Weights P = softmax(Z): each row of E over its sum",
        "7. Output O = P V: each row a mixture of the values",
        "8. The way back, from the gradient dO of the output",
        "9. dV = P^T dO",
        "10. dP = dO V^T, the same with any scale",
        "11. dZ = P (dP - sum_j P_j dP_j), each row for itself: through the softmax",
        "12. dS = dZ times the scale",
        "13. dQ = dS K",
        "14. dK = dS^T Q"};
    static const char *const OF_NORMS[] = {
        ("12. The rule divides by norms: dQ and dK below carry dS K and dS^T Q and what flows "
         "through these"),
        "13. dQ", "14. dK"};
    enum { COUNT = sizeof HEADINGS / sizeof *HEADINGS, FIRST = 12 };
    if (step < 0 || step >= COUNT) return NULL;
    return norms && step >= FIRST ? OF_NORMS[step - FIRST] : HEADINGS[step];
}

tt_size trace_visible_keys(const attention_head *head, tt_size i) {
    tt_size count = 0;
    for (tt_size j = 0; j < head->k.rows; j++)
        count += tt_mask_allows(&head->mask, 0, i, j, head->q.rows, head->k.rows);
    return count;
}

/* dS = f_i dZ, for rules without norms. */
static tt_tensor scores_gradient(const trace_side *s, const attention_head *head) {
    tt_tensor dz = s->m[DZ], ds = tt_tape_tensor(s->tape, 1, dz.rows, dz.cols);
    for (tt_size i = 0; ds.data && i < dz.rows; i++) {
        const tt_scale_row row = {head->q.cols, trace_visible_keys(head, i), dz.cols};
        const double f = tt_scale_factor(&s->rule->rule, row);
        for (tt_size j = 0; j < dz.cols; j++)
            ds.data[i * dz.cols + j] = f * dz.data[i * dz.cols + j];
    }
    return ds;
}

/* Entry j of a row is added to sum j mod 8, and the eight are folded, as the softmax does: so P is
 * E over the sum to the last bit. */
static double row_sum(const double *x, tt_size n) {
    enum { SUMS_OF_A_ROW = 8 };
    double s[SUMS_OF_A_ROW] = {0};
    for (tt_size j = 0; j < n; j++) s[j % SUMS_OF_A_ROW] += x[j];
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* E_ij = exp(Z_ij - max_j Z_ij) over the keys that row i sees, 0 for the others; and its sum. */
static void set_exponentials(trace_side *s, const attention_head *head, tt_size i) {
    const tt_size n = s->m[Z].cols;
    const double *z = s->m[Z].data + i * n;
    double *e = s->m[E].data + i * n, most = -INFINITY;
    for (tt_size j = 0; j < n; j++)
        if (tt_mask_allows(&head->mask, 0, i, j, s->m[Z].rows, n)) most = fmax(most, z[j]);
    for (tt_size j = 0; j < n; j++)
        e[j] = tt_mask_allows(&head->mask, 0, i, j, s->m[Z].rows, n) ? tt_exp(z[j] - most) : 0;
    s->m[SUMS].data[i] = row_sum(e, n);
}

static void exponentials(trace_side *s, const attention_head *head) {
    const tt_tensor z = s->m[Z];
    s->m[E] = tt_tape_tensor(s->tape, 1, z.rows, z.cols);
    s->m[SUMS] = tt_tape_tensor(s->tape, 1, z.rows, 1);
    for (tt_size i = 0; !tt_tape_error(s->tape) && i < z.rows; i++) set_exponentials(s, head, i);
}

static const char *compute_side(trace_side *s, const trace_head *t) {
    const tt_tensor none = {0, 0, 0, NULL};
    const attention_head *head = t->head;
    s->tape = tt_tape_new();
    if (!s->tape) return "out of memory";
    tt_var q = tt_param(s->tape, head->q, none), k = tt_param(s->tape, head->k, none);
    tt_var v = tt_param(s->tape, head->v, none);
    tt_var out =
        tt_attention(s->tape, q, k, v,
                     (tt_attention_options){
                         .rule = &s->rule->rule, .mask = head->mask, .rows = TT_ATTENTION_ALL});
    s->m[O] = tt_value(s->tape, out);
    s->m[Z] = tt_attention_logits(s->tape, out);
    s->m[P] = tt_attention_weights(s->tape, out);
    exponentials(s, head);
    if (t->backward) tt_backward_from(s->tape, out, t->d_out);
    s->m[DZ] = tt_attention_logits_grad(s->tape, out);
    if (s->rule->rule.norms == TT_NORMS_NONE && t->backward) s->m[DS] = scores_gradient(s, head);
    s->m[DQ] = tt_grad(s->tape, q);
    s->m[DK] = tt_grad(s->tape, k);
    s->m[DV] = tt_grad(s->tape, v);
    if (tt_tape_error(s->tape)) return tt_tape_error(s->tape);
    return head_stats_compute(&head->mask, s->m[Z], s->m[P], &s->sharp) ? NULL : "out of memory";
}

/* S = Q K^T, dO and dP = dO V^T, which no scale changes. */
static const char *compute_shared(trace_head *t) {
    const attention_head *head = t->head;
    t->tape = tt_tape_new();
    if (!t->tape) return "out of memory";
    tt_var q = tt_const(t->tape, head->q), k = tt_const(t->tape, head->k);
    t->scores = tt_value(t->tape, tt_matmul_nt(t->tape, q, k));
    t->d_out = head->d_out;
    if (!t->d_out.data) {
        t->d_out = tt_tape_tensor(t->tape, 1, head->q.rows, head->v.cols);
        for (tt_size i = 0; t->d_out.data && i < tt_tensor_count(t->d_out); i++)
            t->d_out.data[i] = 1;
    }
    tt_var d_out = tt_const(t->tape, t->d_out), v = tt_const(t->tape, head->v);
    t->d_weights = tt_value(t->tape, tt_matmul_nt(t->tape, d_out, v));
    return tt_tape_error(t->tape);
}

const char *trace_compute(trace_head *t, const attention_head *head, const scaling *rule,
                          bool backward) {
    *t = (trace_head){.head = head, .backward = backward, .sides = 2};
    t->side[0].rule = rule;
    t->side[1].rule = scaling_find("none");
    if (t->side[0].rule == t->side[1].rule) t->sides = 1;
    const char *problem = compute_shared(t);
    for (int n = 0; n < t->sides && !problem; n++) problem = compute_side(&t->side[n], t);
    return problem;
}

void trace_free(trace_head *t) {
    for (int n = 0; n < t->sides; n++) tt_tape_free(t->side[n].tape);
    tt_tape_free(t->tape);
}
