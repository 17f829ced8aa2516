/* diagnosis.c: a slip is another expectation, by which the given gradients are judged anew. */
#include "gradcheck/diagnosis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

typedef struct patient {
    const head_files *f;
    const scaling *rule;
    const precision *p;
    const array *file;
    const expectation *e;
    bool failed[HEAD_GRADIENTS];
    FILE *table;
} patient;

static bool agrees(const expectation *e, const array *file, int which) {
    const given_gradient g = {which, file, 0};
    tally t;
    return judge_elements(e, &g, 0, tt_tensor_count(e->ours.of[which]), &t) && t.failed == 0 &&
           t.passed > 0;
}

/* Says of which failed tensors the slip is an explanation; false if of none. */
static bool try(const patient *d, const expectation *e, const char *slip) {
    char names[32] = "";
    for (int i = 0; i < HEAD_GRADIENTS; i++)
        if (d->failed[i] && agrees(e, &d->file[i], i)) {
            const size_t used = strlen(names);
            (void)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                           head_gradient_name(i));
        }
    if (names[0]) text_line(d->table, 4, "  %s: within the bound %s", names, slip);
    return names[0] != '\0';
}

/* ---- Another mask or rule -------------------------------------------------------------------- */

static void try_masks(const patient *d) {
    const bool square = d->f->queries == d->f->keys; /* both alignments are one */
    for (int causal = TT_CAUSAL_NONE; causal <= TT_CAUSAL_BOTTOM_RIGHT; causal++) {
        head_files other = *d->f;
        expectation e;
        char slip[64];
        other.causal = (tt_causal)causal;
        if (other.causal == d->f->causal) continue;
        if (square && causal == TT_CAUSAL_BOTTOM_RIGHT) continue;
        if (square && causal != TT_CAUSAL_NONE && d->f->causal != TT_CAUSAL_NONE) continue;
        (void)snprintf(slip, sizeof slip, "with --mask %s", mask_word(causal));
        if (expectation_new(&e, &other, &d->rule->rule, d->p)) (void)try(d, &e, slip);
        expectation_free(&e);
    }
}

static void try_rules(const patient *d) {
    for (int i = 0; scaling_at(i); i++) {
        expectation e;
        char slip[64];
        if (strcmp(scaling_name(i), d->rule->name) == 0) continue;
        (void)snprintf(slip, sizeof slip, "with --scale %s", scaling_name(i));
        if (expectation_new(&e, d->f, &scaling_at(i)->rule, d->p)) (void)try(d, &e, slip);
        expectation_free(&e);
    }
}

static bool all_failed_hold(const patient *d, const number_format *f) {
    for (int w = 0; w < HEAD_GRADIENTS; w++)
        for (tt_size i = 0; d->failed[w] && i < array_count(&d->file[w]); i++)
            if (!format_holds(f, d->file[w].data[i])) return false;
    return true;
}

/* A narrower format than the one that was found, or asked for; the first that explains it. */
static void try_formats(const patient *d) {
    bool explained = false;
    for (int i = 0; !explained && format_at(i) && format_at(i)->bits < d->p->format->bits; i++) {
        if (!all_failed_hold(d, format_at(i))) continue;
        const precision other = {format_at(i), fmax(d->p->input_unit, format_at(i)->unit)};
        expectation e;
        char slip[64];
        (void)snprintf(slip, sizeof slip, "of %s: --precision %s", format_name(i), format_name(i));
        explained = expectation_new(&e, d->f, &d->rule->rule, &other) && try(d, &e, slip);
        expectation_free(&e);
    }
}

/* ---- Ours, changed --------------------------------------------------------------------------- */

/* A copy of ours and its bounds in which entry i is `factor` times that at from(i). */
typedef tt_size permutation(const tt_tensor *t, tt_size i, const tt_size *order);

static bool changed(expectation *to, const patient *d, double factor, permutation *from,
                    const tt_size *const order[HEAD_GRADIENTS]) {
    bool good = true;
    *to = (expectation){.multiple = d->e->multiple};
    for (int w = 0; w < HEAD_GRADIENTS && good; w++) {
        const tt_tensor ours = d->e->ours.of[w], bound = d->e->bound[w];
        to->ours.of[w] = tt_tensor_new(ours.batch, ours.rows, ours.cols);
        to->bound[w] = tt_tensor_new(ours.batch, ours.rows, ours.cols);
        to->idle[w] = calloc((size_t)(ours.batch * ours.rows), 1);
        good = to->ours.of[w].data && to->bound[w].data && to->idle[w];
        for (tt_size i = 0; good && i < tt_tensor_count(ours); i++) {
            const tt_size at = from ? from(&ours, i, order ? order[w] : NULL) : i;
            to->ours.of[w].data[i] = factor * ours.data[at];
            to->bound[w].data[i] = fabs(factor) * bound.data[at];
        }
    }
    return good;
}

static void try_factors(const patient *d) {
    const double root = sqrt((double)d->f->d_k);
    const struct {
        double factor;
        const char *slip;
    } FACTORS[] = {
        {-1, "as -1 times ours"},
        {2, "as 2 times ours"},
        {0.5, "as half of ours"},
        {root, "as sqrt(d_k) times ours: the scale?"},
        {1 / root, "as 1/sqrt(d_k) times ours: the scale?"},
        {(double)d->f->d_k, "as d_k times ours: the scale?"},
        {1 / (double)d->f->d_k, "as 1/d_k times ours: the scale?"},
        {(double)d->f->batch, "as B times ours: summed, not averaged?"},
        {1 / (double)d->f->batch, "as 1/B times ours: averaged, not summed?"},
        {(double)d->f->queries, "as T times ours: summed, not averaged?"},
        {1 / (double)d->f->queries, "as 1/T times ours: averaged, not summed?"},
    };
    for (size_t i = 0; i < sizeof FACTORS / sizeof *FACTORS; i++) {
        expectation e;
        if (FACTORS[i].factor == 1) continue;
        if (changed(&e, d, FACTORS[i].factor, NULL, NULL)) (void)try(d, &e, FACTORS[i].slip);
        expectation_free(&e);
    }
}

static tt_size transposed(const tt_tensor *t, tt_size i, const tt_size *order) {
    const tt_size size = t->rows * t->cols, in = i % size;
    (void)order;
    return i - in + in % t->rows * t->cols + in / t->rows;
}

static void try_transposed(const patient *d) {
    expectation e;
    if (changed(&e, d, 1, transposed, NULL))
        (void)try(d, &e, "as the transpose of each head's matrix");
    expectation_free(&e);
}

/* ---- Heads in another order ------------------------------------------------------------------ */

static tt_size reordered(const tt_tensor *t, tt_size i, const tt_size *order) {
    const tt_size size = t->rows * t->cols;
    return order[i / size] * size + i % size;
}

/* Heads after rows: entry i of [T,H,d] in [H,T,d], for one batch entry of order[0] heads. */
static tt_size rows_before_heads(const tt_tensor *t, tt_size i, const tt_size *order) {
    const tt_size heads = order[0], entry = heads * t->rows * t->cols, in = i % entry;
    const tt_size column = in % t->cols, head = in / t->cols % heads, row = in / t->cols / heads;
    return i - in + (head * t->rows + row) * t->cols + column;
}

/* Which of our heads the given head h could be, with no element out of bound; -1: none. */
static tt_size head_like(const patient *d, int which, tt_size h) {
    const tt_tensor ours = d->e->ours.of[which], bound = d->e->bound[which];
    const tt_size size = ours.rows * ours.cols;
    const double *given = d->file[which].data + h * size;
    for (tt_size g = 0; g < ours.batch; g++) {
        tt_size i = 0;
        while (i < size && fabs(given[i] - ours.data[g * size + i]) <=
                               d->e->multiple * bound.data[g * size + i])
            i++;
        if (i == size) return g;
    }
    return -1;
}

static void try_layouts(const patient *d) {
    tt_size heads[] = {d->f->heads}, key_heads[] = {d->f->key_heads};
    const tt_size *const order[HEAD_GRADIENTS] = {heads, key_heads, key_heads};
    expectation e;
    if (changed(&e, d, 1, rows_before_heads, order)) (void)try(d, &e, "laid out [B,T,H,d]");
    expectation_free(&e);
}

static void try_orders(const patient *d) {
    tt_size *order[HEAD_GRADIENTS] = {NULL};
    const tt_size *found[HEAD_GRADIENTS];
    bool good = true, moved = false;
    expectation e = {.idle = {NULL}};
    for (int w = 0; w < HEAD_GRADIENTS && good; w++) {
        const tt_size heads = d->e->ours.of[w].batch;
        order[w] = malloc((size_t)heads * sizeof *order[w]);
        good = order[w] != NULL;
        for (tt_size h = 0; good && h < heads; h++) {
            const tt_size like = d->failed[w] ? head_like(d, w, h) : h;
            order[w][h] = like < 0 ? h : like;
            moved = moved || order[w][h] != h;
        }
        found[w] = order[w];
    }
    if (good && moved && changed(&e, d, 1, reordered, found))
        (void)try(d, &e, "as ours with the heads in another order");
    expectation_free(&e);
    for (int w = 0; w < HEAD_GRADIENTS; w++) free(order[w]);
}

/* ---- A softmax backward without its sum: dZ = P dP ------------------------------------------- */

typedef struct sumless {
    const patient *d;
    expectation *to;
} sumless;

/* An entry of dQ or dK, and what its own terms' roundings add to the bound. */
static void add_term(tt_tensor value, tt_tensor bound, tt_size i, double term, double unit) {
    value.data[i] += term;
    bound.data[i] += unit * fabs(term);
}

static bool add_sumless(void *context, const tt_tape *tape, tt_var output, const attention_head *h,
                        tt_size entry) {
    const sumless *s = context;
    const tt_tensor p = tt_attention_weights(tape, output);
    const number_format *f = s->d->p->format;
    const double unit = 8 * f->unit + format_sum_error(f, p.cols) + format_sum_error(f, h->v.cols);
    const tt_size key = head_files_key_entry(s->d->f, entry), cols = h->q.cols;
    const tt_tensor dq = tt_tensor_matrix(s->to->ours.of[HEAD_DQ], entry),
                    dk = tt_tensor_matrix(s->to->ours.of[HEAD_DK], key),
                    b_dq = tt_tensor_matrix(s->to->bound[HEAD_DQ], entry),
                    b_dk = tt_tensor_matrix(s->to->bound[HEAD_DK], key);
    for (tt_size i = 0; i < p.rows; i++) {
        tt_size visible = 0;
        for (tt_size j = 0; j < p.cols; j++)
            visible += tt_mask_allows(&h->mask, 0, i, j, p.rows, p.cols);
        const tt_scale_row row = {cols, visible, p.cols};
        const double factor = tt_scale_factor(&s->d->rule->rule, row);
        for (tt_size j = 0; j < p.cols; j++) {
            double dp = 0;
            if (!tt_mask_allows(&h->mask, 0, i, j, p.rows, p.cols)) continue;
            for (tt_size c = 0; c < h->v.cols; c++)
                dp += h->d_out.data[i * h->v.cols + c] * h->v.data[j * h->v.cols + c];
            const double ds = factor * p.data[i * p.cols + j] * dp;
            for (tt_size c = 0; c < cols; c++) {
                add_term(dq, b_dq, i * cols + c, ds * h->k.data[j * cols + c], unit);
                add_term(dk, b_dk, j * cols + c, ds * h->q.data[i * cols + c], unit);
            }
        }
    }
    return true;
}

static void try_sumless(const patient *d) {
    expectation e;
    head_gradients unused = {{{0, 0, 0, NULL}}};
    sumless context = {d, &e};
    const head_visitor visitor = {add_sumless, &context};
    const head_files *f = d->f;
    if (d->rule->rule.norms != TT_NORMS_NONE) return;
    bool good = changed(&e, d, 1, NULL, NULL);
    for (int w = HEAD_DQ; good && w <= HEAD_DK; w++)
        memset(e.ours.of[w].data, 0, (size_t)tt_tensor_count(e.ours.of[w]) * sizeof(double));
    good = good &&
           head_gradients_compute(
               &unused, f, &d->rule->rule,
               tt_tensor_view(f->d_out.data, f->batch * f->heads, f->queries, f->d_v), &visitor);
    if (good) (void)try(d, &e, "without the sum in the softmax's backward: dZ = P dP");
    head_gradients_free(&unused);
    expectation_free(&e);
}

/* ---- All of them ----------------------------------------------------------------------------- */

void diagnose(const head_files *f, const scaling *rule, const precision *p, const array *file,
              const expectation *e, FILE *table) {
    patient d = {f, rule, p, file, e, {false}, table};
    for (int i = 0; i < HEAD_GRADIENTS; i++) {
        const given_gradient g = {i, &file[i], 0};
        tally t;
        d.failed[i] = file[i].data &&
                      judge_elements(e, &g, 0, tt_tensor_count(e->ours.of[i]), &t) && t.failed > 0;
    }
    try_formats(&d);
    try_masks(&d);
    try_rules(&d);
    try_factors(&d);
    try_transposed(&d);
    try_layouts(&d);
    try_orders(&d);
    try_sumless(&d);
}
