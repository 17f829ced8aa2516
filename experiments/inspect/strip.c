#include "inspect/strip.h"

#include <math.h>
#include <string.h>

#include "tt/norm.h"
#include "tt/ops.h"

/* A row's keys end with the last that it sees. */
typedef struct strip_row {
    unsigned char *may; /* [Tk] */
    tt_size visible, keys;
} strip_row;

typedef struct strip {
    const strip_head *head;
    tt_size first, count, keys; /* keys: most of any row */
    tt_tape *tape, *row_tape;   /* the second is reset for each row and rule */
    strip_row row[STRIP_ROWS];
    tt_tensor scores; /* [1,count,keys] */
    double *logits;   /* [keys] of one row */
    double *x;        /* [keys], scratch */
} strip;

static double inverse_or_zero(double x) {
    return x == 0 ? 0 : 1 / x;
}

void strip_set_keys(const strip_head *head) {
    const tt_tensor k = head->at.k;
    for (tt_size j = 0; j < k.rows; j++) {
        head->key_norm[j] = tt_norm(k.data + j * k.cols, k.cols);
        head->key_factor[j] = inverse_or_zero(head->key_norm[j]);
    }
}

/* ---- What all rules share -------------------------------------------------------------------- */

static void set_row(strip *s, tt_size i) {
    const tt_size queries = s->head->at.q.rows, keys = s->head->at.k.rows;
    strip_row *row = &s->row[i];
    row->may = tt_tape_alloc(s->tape, (size_t)keys);
    if (!row->may) return;
    row->visible = tt_mask_row(&s->head->at.mask, 0, s->first + i, queries, keys, row->may);
    row->keys = keys;
    while (row->keys > 0 && !row->may[row->keys - 1]) row->keys--;
    if (row->keys > s->keys) s->keys = row->keys;
}

static bool set_strip(strip *s) {
    const tt_tensor q = s->head->at.q, k = s->head->at.k;
    s->tape = tt_tape_new();
    s->row_tape = tt_tape_new();
    if (!s->tape || !s->row_tape) return false;
    for (tt_size i = 0; i < s->count; i++) set_row(s, i);
    const tt_tensor queries = tt_tensor_view(q.data + s->first * q.cols, 1, s->count, q.cols);
    const tt_tensor keys = tt_tensor_view(k.data, 1, s->keys, k.cols);
    const tt_var scores =
        tt_matmul_nt(s->tape, tt_const(s->tape, queries), tt_const(s->tape, keys));
    s->scores = tt_value(s->tape, scores);
    s->logits = tt_tape_tensor(s->tape, 1, 1, s->keys).data;
    s->x = tt_tape_tensor(s->tape, 1, 1, s->keys).data;
    return !tt_tape_error(s->tape);
}

/* ---- One row under one rule ------------------------------------------------------------------ */

/* f_i a_i of tt/scale.h. */
static double row_factor(const strip *s, tt_size i, const tt_scale_rule *rule) {
    const attention_head *at = &s->head->at;
    const strip_row *row = &s->row[i];
    const double factor =
        tt_scale_factor(rule, (tt_scale_row){at->q.cols, row->visible, at->k.rows});
    double divisor = 0;
    if (rule->norms == TT_NORMS_NONE) return factor;
    if (rule->norms == TT_NORMS_COSINE)
        divisor = tt_norm(at->q.data + (s->first + i) * at->q.cols, at->q.cols);
    if (rule->norms == TT_NORMS_KEY_SUM)
        for (tt_size j = 0; j < row->keys; j++)
            if (row->may[j]) divisor += s->head->key_norm[j];
    return factor * inverse_or_zero(divisor);
}

/* Z_ij = f_i a_i b_j S_ij; what is masked becomes -infinity, whose weight is 0. */
static void set_logits(const strip *s, tt_size i, const tt_scale_rule *rule) {
    const strip_row *row = &s->row[i];
    const double factor = row_factor(s, i, rule);
    const double *scores = s->scores.data + i * s->keys, *b = s->head->key_factor;
    double *z = s->logits;
    if (rule->norms == TT_NORMS_COSINE)
        for (tt_size j = 0; j < row->keys; j++) z[j] = scores[j] * (factor * b[j]);
    else
        for (tt_size j = 0; j < row->keys; j++) z[j] = scores[j] * factor;
    for (tt_size j = 0; row->visible < row->keys && j < row->keys; j++)
        if (!row->may[j]) z[j] = -INFINITY;
}

static bool measure(const strip *s, tt_size i, int rule) {
    const strip_head *head = s->head;
    const strip_row *row = &s->row[i];
    const tt_size at = s->first + i, queries = head->at.q.rows;
    measured_row *out = &head->rows[rule * queries + at];
    *out = (measured_row){.keys = 0, .beyond = -1};
    if (row->visible == 0) return true;
    set_logits(s, i, &head->rules->rule[rule]->rule);
    tt_tape_reset(s->row_tape);
    const tt_tensor z = tt_tensor_view(s->logits, 1, 1, row->keys);
    const tt_tensor w = tt_value(s->row_tape, tt_softmax(s->row_tape, tt_const(s->row_tape, z)));
    if (!w.data) return false;
    *out = row_measure(row->may, row->visible, z.data, w.data, row->keys, s->x);
    if (head->weights && rule == inspect_rules_first_alike(head->rules, head->rules->used))
        memcpy(head->weights + at * head->at.k.rows, w.data, (size_t)w.cols * sizeof *w.data);
    return true;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* The last row first: under a causal mask it sees the most keys, and the tape's memory for it does
 * for the others. */
static bool measure_rows(const strip *s) {
    const inspect_rules *rules = s->head->rules;
    for (tt_size i = s->count; i-- > 0;)
        for (int r = 0; r < rules->count; r++)
            if (inspect_rules_first_alike(rules, r) == r && !measure(s, i, r)) return false;
    return true;
}

bool strip_measure(const strip_head *head, tt_size first) {
    const tt_size left = head->at.q.rows - first;
    strip s = {.head = head, .first = first, .count = left < STRIP_ROWS ? left : STRIP_ROWS};
    const bool good = set_strip(&s) && measure_rows(&s);
    tt_tape_free(s.tape);
    tt_tape_free(s.row_tape);
    return good;
}

double strip_bytes(tt_size keys) {
    enum { ROWS = 4, TAPES = 1 << 20 }; /* logits, scratch, two of softmax; what tapes take */
    return (double)keys * (STRIP_ROWS * (sizeof(double) + 1) + ROWS * sizeof(double)) +
           (double)TAPES;
}
