#include "factor_cases.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/scaling.h"
#include "inspect/factor_layer.h"
#include "tt/elementary.h"
#include "tt/rng.h"

enum { HEADS = 2 };

const char *factor_case_name(int kind) {
    static const char *const NAMES[CASE_KINDS] = {"none", "sqrt",   "twice", "width", "number",
                                                  "bias", "bent",   "rows",  "noise", "log",
                                                  "keys", "cosine", "rms"};
    return NAMES[kind];
}

const char *factor_case_mask(int mask) {
    static const char *const NAMES[CASE_MASKS] = {"none",   "top-left", "bottom-right",
                                                  "window", "range",    "own"};
    return NAMES[mask];
}

/* ---- A layer --------------------------------------------------------------------------------- */

typedef struct layer {
    head_files f;
    const number_format *format;
    int kind, mask, order;
    double factor;       /* of q.k, or on the rule */
    const scaling *rule; /* or NULL */
    unsigned char *may;  /* [Tq,Tk] */
    array p, o;
} layer;

static array array_new(tt_size rows, tt_size cols) {
    array a = {.ndim = 3, .dim = {HEADS, rows, cols}, .item_bytes = 8};
    a.data = calloc((size_t)(HEADS * rows), (size_t)cols * sizeof *a.data);
    if (!a.data) abort();
    return a;
}

static void draw(tt_rng *rng, const number_format *f, double size, array *a) {
    tt_rng_normal(rng, a->data, array_count(a));
    for (ptrdiff_t i = 0; i < array_count(a); i++) a->data[i] = format_round(f, size * a->data[i]);
}

static double uniform(tt_rng *rng) {
    double x;
    tt_rng_uniform(rng, &x, 1);
    return x;
}

static tt_size below(tt_rng *rng, tt_size n) {
    return (tt_size)(uniform(rng) * (double)n);
}

static bool sees(const layer *l, tt_rng *rng, tt_size i, tt_size j, tt_size window) {
    const tt_size tq = l->f.queries, tk = l->f.keys;
    switch (l->mask) {
    case CASE_TOP_LEFT:
        return j <= i;
    case CASE_BOTTOM_RIGHT:
        return j <= i + tk - tq;
    case CASE_WINDOW:
        return j <= i && j + window > i;
    case CASE_RANGE:
        return j < tk - 2;
    case CASE_OWN:
        return j == i || uniform(rng) < 0.6;
    default:
        return true;
    }
}

static double factor_of(const layer *l, tt_rng *rng) {
    const double d_k = (double)l->f.d_k;
    switch (l->kind) {
    case CASE_NONE:
        return 1;
    case CASE_TWICE:
        return 1 / d_k;
    case CASE_WIDTH:
        return 1 / sqrt((double)HEADS * d_k);
    case CASE_NUMBER:
        return tt_exp(2 * uniform(rng) - 1) / sqrt(d_k);
    default:
        return l->rule ? 1 : 1 / sqrt(d_k);
    }
}

/* Sizes for which most factors can be told, and saturated and nearly uniform rows. */
static void layer_new(layer *l, tt_rng *rng) {
    static const tt_size WIDTHS[] = {4, 8, 16, 64};
    const tt_size d_k = WIDTHS[below(rng, 4)], tk = 4 + below(rng, 37);
    const tt_size least = l->kind >= CASE_FACTORS && l->kind < CASE_ODD ? tk / 2 : 1;
    const tt_size tq = l->mask == CASE_BOTTOM_RIGHT ? least + below(rng, tk - least + 1)
                       : l->mask == CASE_ALL        ? 2 + below(rng, 39)
                                                    : tk;
    l->f = (head_files){.batch = 1, .heads = HEADS, .key_heads = HEADS, .queries = tq, .keys = tk};
    l->f.d_k = l->f.d_v = d_k;
    l->f.q = array_new(tq, d_k);
    l->f.k = array_new(tk, d_k);
    l->f.v = array_new(tk, d_k);
    l->p = array_new(tq, tk);
    l->o = array_new(tq, d_k);
    l->may = malloc((size_t)(tq * tk));
    if (!l->may) abort();
    const double size = tt_exp(uniform(rng) - 0.3);
    draw(rng, l->format, size, &l->f.q);
    draw(rng, l->format, size, &l->f.k);
    draw(rng, l->format, 1, &l->f.v);
    l->order = (int)below(rng, 4);
    l->rule = l->kind >= CASE_ODD ? scaling_find(factor_case_name(l->kind)) : NULL;
    l->factor = factor_of(l, rng);
    const tt_size window = 3 + below(rng, 3);
    for (tt_size i = 0; i < tq; i++)
        for (tt_size j = 0; j < tk; j++) l->may[i * tk + j] = sees(l, rng, i, j, window);
}

static void layer_free(layer *l) {
    head_files_free(&l->f);
    array_free(&l->p);
    array_free(&l->o);
    free(l->may);
}

/* ---- As a model computes it ------------------------------------------------------------------ */

/* Sums and functions are float32's, or float64's for that format. */
static double wide(const layer *l, double x) {
    return l->format->bits == 53 ? x : (double)(float)x;
}

static double dot(const layer *l, const double *q, const double *k, double scale, bool first) {
    double sum = 0;
    for (tt_size c = 0; c < l->f.d_k; c++) {
        const double a = first ? format_round(l->format, wide(l, q[c] * scale)) : q[c];
        sum = wide(l, sum + wide(l, a * k[c]));
    }
    return sum;
}

/* The rule's factor, and its norms. */
static double factor_at(const layer *l, tt_size h, tt_size i, tt_size j) {
    const head_files *f = &l->f;
    tt_size visible = 0;
    double keys = 0, q = 0, key = 0;
    if (!l->rule) return l->factor * (l->kind == CASE_ROWS ? 1 + 0.5 * (double)(i % 3) : 1);
    for (tt_size n = 0; n < f->keys; n++) {
        double norm = 0;
        for (tt_size c = 0; c < f->d_k; c++) {
            const double x = f->k.data[(h * f->keys + n) * f->d_k + c];
            norm += x * x;
        }
        if (n == j) key = sqrt(norm);
        if (l->may[i * f->keys + n]) {
            visible++;
            keys += sqrt(norm);
        }
    }
    for (tt_size c = 0; c < f->d_k; c++) {
        const double x = f->q.data[(h * f->queries + i) * f->d_k + c];
        q += x * x;
    }
    const double factor = tt_scale_factor(&l->rule->rule, (tt_scale_row){f->d_k, visible, f->keys});
    if (l->rule->rule.norms == TT_NORMS_COSINE) return factor / (sqrt(q) * key);
    return l->rule->rule.norms == TT_NORMS_KEY_SUM ? factor / keys : factor;
}

/* 0: logits are rounded to the format; 1: q is scaled first, and rounded; 2: as a fused kernel, all
 * in wide; 3: all in the format. */
static double logit(const layer *l, tt_rng *rng, tt_size h, tt_size i, tt_size j) {
    const head_files *f = &l->f;
    const double *q = f->q.data + (h * f->queries + i) * f->d_k;
    const double *k = f->k.data + (h * f->keys + j) * f->d_k;
    const double scale = wide(l, factor_at(l, h, i, j));
    const double s = dot(l, q, k, scale, l->order == 1);
    double z = l->order == 1 ? format_round(l->format, s)
               : l->order == 2
                   ? wide(l, s * scale)
                   : format_round(l->format, wide(l, format_round(l->format, s) * scale));
    if (l->kind == CASE_BIAS) z -= 0.3 * fabs((double)(i - j));
    if (l->kind == CASE_BENT) z = 2 * (1 - 2 / (1 + tt_exp(z)));
    if (l->kind == CASE_NOISE) z += 2 * uniform(rng) - 1;
    return wide(l, z);
}

static void attend_row(layer *l, tt_rng *rng, tt_size h, tt_size i) {
    const head_files *f = &l->f;
    const unsigned char *may = l->may + i * f->keys;
    const bool in_format = l->order == 3;
    double *p = l->p.data + (h * f->queries + i) * f->keys;
    double *o = l->o.data + (h * f->queries + i) * f->d_v, most = -INFINITY, total = 0;
    for (tt_size j = 0; j < f->keys; j++) {
        if (may[j]) p[j] = logit(l, rng, h, i, j);
        if (may[j] && p[j] > most) most = p[j];
    }
    for (tt_size j = 0; j < f->keys; j++) {
        if (!may[j]) continue;
        const double x = in_format ? format_round(l->format, p[j] - most) : wide(l, p[j] - most);
        p[j] = wide(l, tt_exp(x));
        if (in_format) p[j] = format_round(l->format, p[j]);
        total = wide(l, total + p[j]);
    }
    if (in_format) total = format_round(l->format, total);
    for (tt_size j = 0; j < f->keys; j++)
        if (may[j])
            p[j] = l->order == 2 ? wide(l, p[j] / total)
                                 : format_round(l->format, wide(l, p[j] / total));
    for (tt_size c = 0; c < f->d_v; c++) {
        double sum = 0;
        for (tt_size j = 0; j < f->keys; j++)
            sum = wide(l, sum + wide(l, p[j] * f->v.data[(h * f->keys + j) * f->d_v + c]));
        o[c] = format_round(l->format, sum);
    }
    for (tt_size j = 0; j < f->keys; j++) p[j] = format_round(l->format, p[j]);
}

/* ---- What is made of it ---------------------------------------------------------------------- */

static bool is_named(const layer *l, const factor_layer *made, const factor_fit *x) {
    const factor_number *found[FACTOR_NUMBERS_MOST];
    if (x->rule) return x->rule == l->rule;
    const int count =
        factor_numbers_match(&made->numbers, x->factor, x->error, x->computed->unit, found);
    /* the error bar says it; and so it does of a rule that one number explains within rounding */
    const bool perhaps = x->error > FACTOR_NUMBER_CHANCE * x->factor; /* nor is it called so then */
    if (l->kind == CASE_NUMBER || (l->rule && (count == 0 || perhaps))) return true;
    for (int i = 0; i < count; i++)
        if (fabs(found[i]->value - l->factor) <= 0x1p-50 * l->factor ||
            strcmp(found[i]->name, factor_case_name(l->kind)) == 0)
            return true;
    return false;
}

static bool same_mask(const layer *l, const factor_mask *m) {
    for (tt_size i = 0; i < l->f.queries; i++)
        for (tt_size j = 0; j < l->f.keys; j++)
            if (factor_mask_allows(m, i, j) != (l->may[i * l->f.keys + j] != 0)) return m->own;
    return true;
}

/* Where a visible weight underflows, no one can count what a row of an unknown mask sees. */
static bool zeros_seen(const layer *l, tt_size h) {
    const tt_size count = l->f.queries * l->f.keys;
    for (tt_size i = 0; i < count; i++)
        if (l->may[i] && l->p.data[h * count + i] == 0) return true;
    return false;
}

static void count_head(const layer *l, const factor_layer *made, tt_size h, factor_tally *t) {
    const factor_fit *x = &made->fit[h];
    t->heads++;
    t->found += x->verdict == FACTOR_FOUND;
    const bool hidden = l->mask == CASE_OWN && l->rule && zeros_seen(l, h);
    if (x->verdict == FACTOR_NO_FIT) *(hidden ? &t->unknown : &t->none) += 1;
    t->unknown += x->verdict == FACTOR_UNKNOWN;
    if (x->verdict != FACTOR_FOUND) return;
    const bool other = l->rule && x->rule != l->rule; /* whose factor has no truth */
    t->outside += !other && !(fabs(x->factor - l->factor) <= x->error);
    t->misnamed += !is_named(l, made, x);
    t->masked += x->mask.known && x->mask.unsure == 0 && !same_mask(l, &x->mask);
    t->misfit = fmax(t->misfit, x->misfit);
    t->worst = fmax(t->worst, x->worst);
}

void factor_tally_add(factor_tally *to, const factor_tally *x) {
    to->heads += x->heads;
    to->found += x->found;
    to->none += x->none;
    to->unknown += x->unknown;
    to->outside += x->outside;
    to->misnamed += x->misnamed;
    to->masked += x->masked;
    to->misfit = fmax(to->misfit, x->misfit);
    to->worst = fmax(to->worst, x->worst);
}

int factor_tally_wrong(const factor_tally *x, int kind) {
    if (kind >= CASE_FACTORS && kind < CASE_ODD) return x->found;
    return x->none + x->misnamed + x->masked;
}

void factor_cases_run(int kind, int mask, const number_format *format, int outputs, int count,
                      unsigned seed, factor_tally *tally) {
    tt_rng rng;
    tt_rng_seed(&rng, seed);
    for (int n = 0; n < count; n++) {
        layer l = {.kind = kind, .mask = mask, .format = format};
        factor_layer made;
        layer_new(&l, &rng);
        for (tt_size h = 0; h < HEADS; h++)
            for (tt_size i = 0; i < l.f.queries; i++) attend_row(&l, &rng, h, i);
        const factor_source source = {.outputs = outputs, .threads = 1};
        if (factor_layer_of("made", &source, &l.f, outputs ? &l.o : &l.p, &made) != EXIT_OK)
            abort();
        for (tt_size h = 0; h < HEADS; h++) count_head(&l, &made, h, tally);
        factor_layer_free(&made);
        layer_free(&l);
    }
}
