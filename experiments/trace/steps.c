/* steps.c: how the way through a head is printed, and what is checked of it. */
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

typedef struct trace {
    const trace_settings *settings;
    const show *show;
    trace_head all;
    const attention_head *head;
    char label[2][40];
} trace;

static int compute(trace *t) {
    const char *problem = trace_compute(&t->all, t->head, t->settings->rule, t->settings->backward);
    tt_size i, j;
    if (problem) return message_fail(EXIT_FAILED, "%s", problem);
    for (int n = 0; n < t->all.sides; n++)
        if (!head_logits_finite(t->head, t->all.side[n].m[Z], &i, &j))
            return message_fail(EXIT_FAILED,
                                "the logit of query %td and key %td (%s) is beyond the range of a "
                                "double; expected smaller Q and K",
                                i, j, t->label[n]);
    return EXIT_OK;
}

/* ---- Forward and backward -------------------------------------------------------------------- */

static void show_sides(const trace *t, int which, bool masked, bool mark) {
    shown a[2];
    for (int n = 0; n < t->all.sides; n++)
        a[n] = (shown){t->label[n], t->all.side[n].m[which], masked ? &t->head->mask : NULL, mark};
    if (t->all.sides == 2)
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
        if (trace_visible_keys(head, i) < head->k.rows) return true;
    return false;
}

static void show_forward(const trace *t) {
    const bool norms = t->settings->rule->rule.norms != TT_NORMS_NONE;
    const attention_head *head = t->head;
    const show *s = t->show;
    shown q = {"Q", head->q, NULL, false}, k = {"K", head->k, NULL, false};
    show_heading(s, trace_heading(1, norms));
    show_pair(s, &q, &k);
    show_one(t, "V", head->v, false);
    show_heading(s, trace_heading(2, norms));
    show_one(t, "S = Q K^T", t->all.scores, true);
    if (hides_a_key(head)) show_line(s, "\"-\": masked; such a key has no part in what follows.\n");
    show_heading(s, trace_heading(3, norms));
    for (int n = 0; n < t->all.sides; n++)
        show_line(s, "%s: Z = %s, d_k = %td%s", t->label[n], t->all.side[n].rule->formula,
                  head->q.cols, s->markdown ? "\n" : "");
    if (!s->markdown) show_gap(s);
    show_sides(t, Z, true, true);
    show_heading(s, trace_heading(4, norms));
    show_sides(t, E, true, true);
    show_heading(s, trace_heading(5, norms));
    show_sides(t, SUMS, false, false);
    show_heading(s, trace_heading(6, norms));
    show_sides(t, P, true, true);
    show_heading(s, trace_heading(7, norms));
    show_sides(t, O, false, false);
}

static void show_backward(const trace *t) {
    const show *s = t->show;
    bool norms = t->settings->rule->rule.norms != TT_NORMS_NONE;
    show_heading(s, trace_heading(8, norms));
    show_one(t, t->head->d_out.data ? "dO" : "dO = 1 everywhere (the loss is the sum of O)",
             t->all.d_out, false);
    show_heading(s, trace_heading(9, norms));
    show_sides(t, DV, false, false);
    show_heading(s, trace_heading(10, norms));
    show_one(t, "dP", t->all.d_weights, true);
    show_heading(s, trace_heading(11, norms));
    show_sides(t, DZ, true, false);
    show_heading(s, trace_heading(12, norms));
    if (!norms) show_sides(t, DS, true, false);
    show_heading(s, trace_heading(13, norms));
    show_sides(t, DQ, false, false);
    show_heading(s, trace_heading(14, norms));
    show_sides(t, DK, false, false);
}

/* ---- Sharpness and checks -------------------------------------------------------------------- */

enum { CELL = 32 };

static void row(const trace *t, const char *label, char cell[2][CELL]) {
    show_table_row(t->show, label, cell[0], t->all.sides == 2 ? cell[1] : NULL);
}

static void head_row(const trace *t, const char *title) {
    show_table_head(t->show, title, t->label[0], t->all.sides == 2 ? t->label[1] : NULL);
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
        for (int n = 0; n < t->all.sides; n++)
            (void)snprintf(cell[n], CELL, "%.*g", digits, t->all.side[n].sharp.value[ROWS[r].stat]);
        row(t, ROWS[r].label, cell);
    }
    show_gap(t->show);
}

/* Z is not among them: it was looked at where a query sees a key, and means nothing elsewhere. */
static bool numbers_finite(const trace *t, const trace_side *s) {
    const int last = t->settings->backward ? DV : O;
    bool good = true;
    for (int which = P; which <= last; which++)
        if (s->m[which].data)
            good = good && stats_finite(s->m[which].data, tt_tensor_count(s->m[which]));
    return good;
}

static bool shapes_right(const trace *t, const trace_side *s) {
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
        worst = fmax(worst, fabs(sum - (trace_visible_keys(t->head, i) > 0 ? expected : 0)));
    }
    return worst;
}

/* How far the worst output lies outside the range of the values that its query sees; 0 if none. */
static double farthest_outside(const trace *t, tt_tensor out) {
    const attention_head *h = t->head;
    double worst = 0;
    for (tt_size i = 0; i < out.rows; i++)
        for (tt_size c = 0; trace_visible_keys(h, i) > 0 && c < out.cols; c++) {
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
    for (int n = 0; n < t->all.sides; n++) {
        const trace_side *s = &t->all.side[n];
        double sum = sum_deviation(t, s->m[P], 1), outside = farthest_outside(t, s->m[O]);
        good = yes_or_no(finite[n], numbers_finite(t, s)) && good;
        good = yes_or_no(shapes[n], shapes_right(t, s)) && good;
        good = verdict(sums[n], sum <= rounding, sum) && good;
        good = verdict(range[n], outside <= 2 * rounding * v, outside) && good;
        if (!t->settings->backward) continue;
        sum = sum_deviation(t, s->m[DZ], 0);
        /* a row of dZ adds up terms of size P |dP| */
        good = verdict(zero[n], sum <= 4 * rounding * largest(t->all.d_weights), sum) && good;
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
    trace t = {.settings = settings, .show = &settings->show, .head = head};
    const int last = settings->rule == scaling_find("none") ? 0 : 1;
    (void)snprintf(t.label[0], sizeof t.label[0], "with %.14s", settings->rule->name);
    (void)snprintf(t.label[last], sizeof t.label[0], "without the scale");
    int code = compute(&t);
    if (code == EXIT_OK) {
        show_forward(&t);
        if (settings->backward) show_backward(&t);
        show_sharpness(&t);
        if (!show_checks(&t)) code = message_fail(EXIT_FAILED, "a check failed; see above");
    }
    for (int n = 0; sharp && n < 2; n++) sharp[n] = t.all.side[n < last ? n : last].sharp;
    trace_free(&t.all);
    return code;
}
