/* steps.c: what is printed is what the library computed: logits, weights,
 * output and every gradient are those of tt_attention; only S, E and its rows' sums, dP and dS,
 * which the operation does not keep, are computed here, from the formula that stands above them.
 */
#include "trace/steps.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/stats.h"
#include "tt/attention.h"
#include "tt/elementary.h"
#include "tt/ops.h"

enum { Z, E, SUMS, P, O, DZ, DS, DQ, DK, DV, MATRICES };

/* The same head with one scale. */
typedef struct side {
    char label[40];
    const scaling *rule;
    tt_tape *tape;
    tt_tensor m[MATRICES];
    head_stats sharp;
} side;

typedef struct trace {
    const trace_settings *settings;
    const show *show;
    const attention_head *head;
    side side[2];
    int sides;
    tt_tape *tape; /* what both sides share */
    tt_tensor scores, d_out, d_weights;
} trace;

/* ---- Computing ------------------------------------------------------------------------------- */

static tt_size visible_keys(const attention_head *head, tt_size i) {
    tt_size count = 0;
    for (tt_size j = 0; j < head->k.rows; j++)
        count += tt_mask_allows(&head->mask, 0, i, j, head->q.rows, head->k.rows);
    return count;
}

/* dS = f_i dZ, for rules without norms. */
static tt_tensor scores_gradient(const side *s, const attention_head *head) {
    tt_tensor dz = s->m[DZ], ds = tt_tape_tensor(s->tape, 1, dz.rows, dz.cols);
    for (tt_size i = 0; ds.data && i < dz.rows; i++) {
        const tt_scale_row row = {head->q.cols, visible_keys(head, i), dz.cols};
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
static void set_exponentials(side *s, const attention_head *head, tt_size i) {
    const tt_size n = s->m[Z].cols;
    const double *z = s->m[Z].data + i * n;
    double *e = s->m[E].data + i * n, most = -INFINITY;
    for (tt_size j = 0; j < n; j++)
        if (tt_mask_allows(&head->mask, 0, i, j, s->m[Z].rows, n)) most = fmax(most, z[j]);
    for (tt_size j = 0; j < n; j++)
        e[j] = tt_mask_allows(&head->mask, 0, i, j, s->m[Z].rows, n) ? tt_exp(z[j] - most) : 0;
    s->m[SUMS].data[i] = row_sum(e, n);
}

static void exponentials(side *s, const attention_head *head) {
    const tt_tensor z = s->m[Z];
    s->m[E] = tt_tape_tensor(s->tape, 1, z.rows, z.cols);
    s->m[SUMS] = tt_tape_tensor(s->tape, 1, z.rows, 1);
    for (tt_size i = 0; !tt_tape_error(s->tape) && i < z.rows; i++) set_exponentials(s, head, i);
}

static const char *compute_side(side *s, const trace *t) {
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
    if (t->settings->backward) tt_backward_from(s->tape, out, t->d_out);
    s->m[DZ] = tt_attention_logits_grad(s->tape, out);
    if (s->rule->rule.norms == TT_NORMS_NONE && t->settings->backward)
        s->m[DS] = scores_gradient(s, head);
    s->m[DQ] = tt_grad(s->tape, q);
    s->m[DK] = tt_grad(s->tape, k);
    s->m[DV] = tt_grad(s->tape, v);
    if (tt_tape_error(s->tape)) return tt_tape_error(s->tape);
    return head_stats_compute(&head->mask, s->m[Z], s->m[P], &s->sharp) ? NULL : "out of memory";
}

/* S = Q K^T, dO and dP = dO V^T, which no scale changes. */
static const char *compute_shared(trace *t) {
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

static int compute(trace *t) {
    const char *problem = compute_shared(t);
    tt_size i, j;
    for (int n = 0; n < t->sides && !problem; n++) problem = compute_side(&t->side[n], t);
    if (problem) return message_fail(EXIT_FAILED, "%s", problem);
    for (int n = 0; n < t->sides; n++)
        if (!head_logits_finite(t->head, t->side[n].m[Z], &i, &j))
            return message_fail(EXIT_FAILED,
                                "the logit of query %td and key %td (%s) is beyond the range of a "
                                "double; expected smaller Q and K",
                                i, j, t->side[n].label);
    return EXIT_OK;
}

/* ---- Forward and backward -------------------------------------------------------------------- */

static void show_sides(const trace *t, int which, bool masked, bool mark) {
    shown a[2];
    for (int n = 0; n < t->sides; n++)
        a[n] = (shown){t->side[n].label, t->side[n].m[which], masked ? &t->head->mask : NULL, mark};
    if (t->sides == 2)
        show_pair(t->show, &a[0], &a[1]);
    else
        show_matrix(t->show, &a[0]);
}

static void show_one(const trace *t, const char *title, tt_tensor m, bool masked) {
    shown a = {title, m, masked ? &t->head->mask : NULL, false};
    show_matrix(t->show, &a);
}

static bool hides_a_key(const attention_head *head) {
    for (tt_size i = 0; i < head->q.rows; i++)
        if (visible_keys(head, i) < head->k.rows) return true;
    return false;
}

static void show_forward(const trace *t) {
    const attention_head *head = t->head;
    const show *s = t->show;
    shown q = {"Q", head->q, NULL, false}, k = {"K", head->k, NULL, false};
    show_heading(s, "1. Queries Q, keys K, values V");
    show_pair(s, &q, &k);
    show_one(t, "V", head->v, false);
    show_heading(s, "2. Scores: how well each query fits each key");
    show_one(t, "S = Q K^T", t->scores, true);
    if (hides_a_key(head)) show_line(s, "\"-\": masked; such a key has no part in what follows.\n");
    show_heading(s, "3. Logits Z, what the softmax sees");
    for (int n = 0; n < t->sides; n++)
        show_line(s, "%s: Z = %s, d_k = %td%s", t->side[n].label, t->side[n].rule->formula,
                  head->q.cols, s->markdown ? "\n" : "");
    if (!s->markdown) show_gap(s);
    show_sides(t, Z, true, true);
    show_heading(s, "4. E = exp(Z - max), max the largest logit of the row");
    show_sides(t, E, true, true);
    show_heading(s, "5. The sum of each row of E");
    show_sides(t, SUMS, false, false);
    show_heading(s, "6. Weights P = softmax(Z): each row of E over its sum");
    show_sides(t, P, true, true);
    show_heading(s, "7. Output O = P V: each row a mixture of the values");
    show_sides(t, O, false, false);
}

static void show_backward(const trace *t) {
    const show *s = t->show;
    bool norms = t->settings->rule->rule.norms != TT_NORMS_NONE;
    show_heading(s, "8. The way back, from the gradient dO of the output");
    show_one(t, t->head->d_out.data ? "dO" : "dO = 1 everywhere (the loss is the sum of O)",
             t->d_out, false);
    show_heading(s, "9. dV = P^T dO");
    show_sides(t, DV, false, false);
    show_heading(s, "10. dP = dO V^T, the same with any scale");
    show_one(t, "dP", t->d_weights, true);
    show_heading(s, "11. dZ = P (dP - sum_j P_j dP_j), each row for itself: through the softmax");
    show_sides(t, DZ, true, false);
    show_heading(s, norms ? "12. The rule divides by norms: dQ and dK below carry dS K and dS^T Q "
                            "and what flows through these"
                          : "12. dS = dZ times the scale");
    if (!norms) show_sides(t, DS, true, false);
    show_heading(s, norms ? "13. dQ" : "13. dQ = dS K");
    show_sides(t, DQ, false, false);
    show_heading(s, norms ? "14. dK" : "14. dK = dS^T Q");
    show_sides(t, DK, false, false);
}

/* ---- Sharpness and checks -------------------------------------------------------------------- */

enum { CELL = 32 };

static void row(const trace *t, const char *label, char cell[2][CELL]) {
    show_table_row(t->show, label, cell[0], t->sides == 2 ? cell[1] : NULL);
}

static void head_row(const trace *t, const char *title) {
    show_table_head(t->show, title, t->side[0].label, t->sides == 2 ? t->side[1].label : NULL);
}

static void show_sharpness(const trace *t) {
    static const struct {
        const char *label;
        head_stat stat;
    } ROWS[] = {
        {"standard deviation of a row's logits", HEAD_LOGIT_SPREAD},
        {"entropy of a row, nats", HEAD_ENTROPY},
        {"entropy / ln(visible keys): 1 is uniform", HEAD_ENTROPY_NORMALISED},
        {"largest weight of a row", HEAD_MAX_WEIGHT},
        {"softmax Jacobian: 0 passes no gradient", HEAD_JACOBIAN_MEAN},
    };
    char cell[2][CELL];
    const int digits = t->show->digits < 12 ? t->show->digits : 12; /* as a cell holds */
    head_row(t, "Sharpness, mean over rows");
    for (size_t r = 0; r < sizeof ROWS / sizeof *ROWS; r++) {
        for (int n = 0; n < t->sides; n++)
            (void)snprintf(cell[n], CELL, "%.*g", digits, t->side[n].sharp.value[ROWS[r].stat]);
        row(t, ROWS[r].label, cell);
    }
    show_gap(t->show);
}

/* Z is not among them: it was looked at where a query sees a key, and means nothing elsewhere. */
static bool numbers_finite(const trace *t, const side *s) {
    const int last = t->settings->backward ? DV : O;
    bool good = true;
    for (int which = P; which <= last; which++)
        if (s->m[which].data)
            good = good && stats_finite(s->m[which].data, tt_tensor_count(s->m[which]));
    return good;
}

static bool shapes_right(const trace *t, const side *s) {
    const attention_head *h = t->head;
    const tt_tensor *m = s->m;
    return m[P].rows == h->q.rows && m[P].cols == h->k.rows && m[O].rows == h->q.rows &&
           m[O].cols == h->v.cols;
}

/* The largest distance of a row's sum from what it should be: 1, or 0 for a query without keys. */
static double sum_deviation(const trace *t, tt_tensor m, double expected) {
    double worst = 0;
    for (tt_size i = 0; i < m.rows; i++) {
        double sum = 0;
        for (tt_size j = 0; j < m.cols; j++) sum += m.data[i * m.cols + j];
        worst = fmax(worst, fabs(sum - (visible_keys(t->head, i) > 0 ? expected : 0)));
    }
    return worst;
}

/* How far the worst output lies outside the range of the values that its query sees; 0 if none. */
static double farthest_outside(const trace *t, tt_tensor out) {
    const attention_head *h = t->head;
    double worst = 0;
    for (tt_size i = 0; i < out.rows; i++)
        for (tt_size c = 0; visible_keys(h, i) > 0 && c < out.cols; c++) {
            double least = INFINITY, most = -INFINITY, x = out.data[i * out.cols + c];
            for (tt_size j = 0; j < h->k.rows; j++)
                if (tt_mask_allows(&h->mask, 0, i, j, h->q.rows, h->k.rows)) {
                    least = fmin(least, h->v.data[j * out.cols + c]);
                    most = fmax(most, h->v.data[j * out.cols + c]);
                }
            worst = fmax(worst, fmax(least - x, x - most));
        }
    return worst;
}

static double largest(tt_tensor m) {
    double most = 0;
    for (tt_size i = 0; i < tt_tensor_count(m); i++)
        if (isfinite(m.data[i])) most = fmax(most, fabs(m.data[i]));
    return most;
}

static bool verdict(char cell[CELL], bool good, double deviation) {
    (void)snprintf(cell, CELL, "%s %.1e", good ? "ok" : "FAILED", deviation);
    return good;
}

static bool yes_or_no(char cell[CELL], bool good) {
    (void)snprintf(cell, CELL, "%s", good ? "ok" : "FAILED");
    return good;
}

/* Sums of n terms round by at most n eps of their largest term; so much is allowed. */
static bool show_checks(const trace *t) {
    char finite[2][CELL], shapes[2][CELL], sums[2][CELL], range[2][CELL], zero[2][CELL];
    const double rounding = (double)t->head->k.rows * DBL_EPSILON;
    const double v = largest(t->head->v);
    bool good = true;
    for (int n = 0; n < t->sides; n++) {
        const side *s = &t->side[n];
        double sum = sum_deviation(t, s->m[P], 1), outside = farthest_outside(t, s->m[O]);
        good = yes_or_no(finite[n], numbers_finite(t, s)) && good;
        good = yes_or_no(shapes[n], shapes_right(t, s)) && good;
        good = verdict(sums[n], sum <= rounding, sum) && good;
        good = verdict(range[n], outside <= 2 * rounding * v, outside) && good;
        if (!t->settings->backward) continue;
        sum = sum_deviation(t, s->m[DZ], 0);
        /* a row of dZ adds up terms of size P |dP| */
        good = verdict(zero[n], sum <= 4 * rounding * largest(t->d_weights), sum) && good;
    }
    head_row(t, "Checks, with the largest deviation");
    row(t, "all numbers are finite", finite);
    row(t, "shapes: P is [Tq,Tk], O is [Tq,d_v]", shapes);
    row(t, "each row of weights sums to 1", sums);
    row(t, "outputs lie within the range of values", range);
    if (t->settings->backward) row(t, "each row of dZ sums to 0", zero);
    show_gap(t->show);
    return good;
}

int trace_steps(const trace_settings *settings, const attention_head *head, head_stats sharp[2]) {
    trace t = {.settings = settings, .show = &settings->show, .head = head, .sides = 2};
    t.side[0].rule = settings->rule;
    t.side[1].rule = scaling_find("none");
    if (t.side[0].rule == t.side[1].rule) t.sides = 1;
    (void)snprintf(t.side[0].label, sizeof t.side[0].label, "with %.14s", settings->rule->name);
    (void)snprintf(t.side[t.sides - 1].label, sizeof t.side[0].label, "without the scale");
    int code = compute(&t);
    if (code == EXIT_OK) {
        show_forward(&t);
        if (settings->backward) show_backward(&t);
        show_sharpness(&t);
        if (!show_checks(&t)) code = message_fail(EXIT_FAILED, "a check failed; see above");
    }
    for (int n = 0; sharp && n < 2; n++) sharp[n] = t.side[t.sides == 2 ? n : 0].sharp;
    for (int n = 0; n < t.sides; n++) tt_tape_free(t.side[n].tape);
    tt_tape_free(t.tape);
    return code;
}
