#include "inspect/factor_layer.h"

#include <math.h>
#include <stdlib.h>

#include "common/machine.h"
#include "common/message.h"
#include "common/parallel.h"
#include "heads/input.h"
#include "inspect/factor_output.h"

/* ---- The file -------------------------------------------------------------------------------- */

static bool shape_fits(const head_files *f, const array *a, tt_size last) {
    if (a->ndim != f->q.ndim || a->dim[a->ndim - 1] != last) return false;
    for (int i = 0; i < a->ndim - 1; i++)
        if (a->dim[i] != f->q.dim[i]) return false;
    return true;
}

static bool are_weights(const char *path, const array *a) {
    char place[SHAPE_BYTES];
    for (ptrdiff_t i = 0; i < array_count(a); i++)
        if (a->data[i] < 0 || a->data[i] > 1.25) /* dropout in training makes them larger than 1 */
            return complain("%s: %g at %s; expected weights, from 0 to 1", path, a->data[i],
                            array_place(place, a, i));
    return true;
}

static bool read_given(const factor_source *source, const head_files *f, array *out) {
    char shape[SHAPE_BYTES], expected[SHAPE_BYTES];
    const tt_size last = source->outputs ? f->d_v : f->keys;
    if (!input_read(source->path, ARRAY_ALLOW_NONFINITE | head_paths_accept(&f->paths), out))
        return false;
    if (!shape_fits(f, out, last)) {
        array like = f->q;
        like.dim[like.ndim - 1] = last;
        return complain("%s %s: expected %s", source->path, array_shape(shape, out),
                        array_shape(expected, &like));
    }
    return source->outputs || are_weights(source->path, out);
}

/* The format of the values, or of the file where they do not tell. */
static const number_format *format_of(const array *a) {
    static const double THIRD = 1.0 / 3; /* a number of none of the short formats */
    const number_list given = {a->data, array_count(a)}, other = {&THIRD, 1};
    const number_format *found = format_detect(&given, &other, 1);
    if (found) return found;
    if (a->kind == ARRAY_BFLOATS) return format_find("bfloat16");
    return format_find(a->item_bytes == 2 ? "float16" : a->item_bytes == 4 ? "float32" : "float64");
}

/* ---- One head -------------------------------------------------------------------------------- */

enum { MASKS_MOST = 5 };

typedef struct work {
    const head_files *files;
    const array *file;
    factor_layer *layer;
    bool *starved; /* [heads]: without memory */
} work;

/* A head at work. */
typedef struct search {
    const factor_layer *layer;
    const array *file;
    const number_format *computed;
    attention_head head;
    const double *given;
    factor_logits plain, ruled;
    double *offset;
    signed char *state;
    unsigned char *seen; /* 1 for a weight that is not 0 */
    tt_mask mask[MASKS_MOST];
    int masks;
    bool starved;
} search;

static void search_free(search *s) {
    factor_logits_free(&s->plain);
    factor_logits_free(&s->ruled);
    free(s->offset);
    free(s->state);
    free(s->seen);
}

/* The masks to try, the options' first. */
static void set_masks(search *s) {
    if (!tt_mask_is_empty(&s->head.mask)) s->mask[s->masks++] = s->head.mask;
    if (!s->layer->outputs) s->mask[s->masks++] = (tt_mask){TT_CAUSAL_NONE, NULL, s->seen};
    s->mask[s->masks++] = (tt_mask){TT_CAUSAL_NONE, NULL, NULL};
    s->mask[s->masks++] = (tt_mask){TT_CAUSAL_TOP_LEFT, NULL, NULL};
    if (s->layer->queries != s->layer->keys)
        s->mask[s->masks++] = (tt_mask){TT_CAUSAL_BOTTOM_RIGHT, NULL, NULL};
}

static bool search_new(search *s) {
    const bool outputs = s->layer->outputs;
    const tt_size count = outputs ? 1 : s->layer->queries * s->layer->keys;
    const tt_size rows = outputs ? FACTOR_OUTPUT_ROWS : PTRDIFF_MAX;
    s->offset = malloc((size_t)s->layer->queries * sizeof *s->offset);
    s->state = malloc((size_t)count);
    s->seen = malloc((size_t)count);
    if (!s->offset || !s->state || !s->seen || !factor_logits_new(&s->plain, &s->head, rows) ||
        !factor_logits_new(&s->ruled, &s->head, rows))
        return false;
    for (tt_size i = 0; !outputs && i < count; i++) s->seen[i] = s->given[i] > 0;
    set_masks(s);
    factor_logits_plain(&s->plain, &s->head);
    return true;
}

/* A 0 is explained by the logits that the fit is of. */
static void set_mask_of_weights(search *s, const factor_logits *l, const factor_given *given,
                                factor_fit *fit) {
    const tt_size queries = s->layer->queries, keys = s->layer->keys;
    factor_fit_states(l, given, s->given, s->offset, fit, s->state);
    fit->mask = factor_mask_find(s->state, queries, keys);
    for (tt_size i = 0; i < queries; i++)
        for (tt_size j = 0; j < keys; j++) {
            const signed char state = s->state[i * keys + j];
            fit->against +=
                state != KEY_UNSURE &&
                (state == KEY_VISIBLE) != tt_mask_allows(&s->head.mask, 0, i, j, queries, keys);
        }
}

/* The mask that outputs were made with: one of those tried. */
static factor_mask mask_tried(const search *s, int i) {
    const factor_mask m = {.known = true,
                           .given = i == 0 && !tt_mask_is_empty(&s->head.mask),
                           .causal = s->mask[i].causal,
                           .queries = s->layer->queries,
                           .keys = s->layer->keys,
                           .last = s->layer->keys};
    return m;
}

static bool fit_weights(search *s, const factor_logits *l, const factor_given *given,
                        factor_fit *fit) {
    if (!factor_fit_weights(l, given, s->given, s->offset, fit)) return false;
    fit->computed = s->computed;
    return true;
}

static bool same_rows(const search *s, int a, int b) {
    const tt_size queries = s->layer->queries, keys = s->layer->keys;
    for (tt_size i = 0; i < queries; i++)
        for (tt_size j = 0; j < keys; j++)
            if (tt_mask_allows(&s->mask[a], 0, i, j, queries, keys) !=
                tt_mask_allows(&s->mask[b], 0, i, j, queries, keys))
                return false;
    return true;
}

/* Two masks that explain the outputs: the factor is either's, and the mask is not known. */
static void join(factor_fit *to, const factor_fit *x) {
    const double low = fmin(to->factor - to->error, x->factor - x->error);
    const double high = fmax(to->factor + to->error, x->factor + x->error);
    to->factor = low + (high - low) / 2;
    to->error = (high - low) / 2;
    to->mask.known = false;
    if (to->error > 0.03 * to->factor) to->verdict = FACTOR_UNKNOWN;
}

static factor_fit fit_output(search *s, const factor_logits *l, const factor_given *given, int mask,
                             double least, double most) {
    factor_fit fit;
    s->starved = s->starved || !factor_fit_output(l, given, &s->head, &s->mask[mask], s->given,
                                                  least, most, &fit);
    fit.computed = s->computed;
    fit.mask = mask_tried(s, mask);
    return fit;
}

/* Under all masks; those that hide the same once. A mask that leaves the factor open may be the
 * right one. */
static factor_fit fit_outputs(search *s, const factor_given *given) {
    const double root = sqrt((double)s->plain.d_k);
    factor_fit best = {.verdict = FACTOR_NO_FIT};
    bool open = false;
    for (int i = 0, found = -1; i < s->masks; i++) {
        if (found >= 0 && same_rows(s, found, i)) continue;
        const factor_fit fit = fit_output(s, &s->plain, given, i, 0x1p-14 / root, 0x1p10);
        open = open || fit.verdict == FACTOR_UNKNOWN;
        if (found >= 0 && fit.verdict == FACTOR_FOUND) join(&best, &fit);
        if (found < 0 && (i == 0 || fit.verdict == FACTOR_FOUND || fit.misfit < best.misfit))
            best = fit;
        if (found < 0 && fit.verdict == FACTOR_FOUND) found = i;
    }
    if (open) best.verdict = FACTOR_UNKNOWN;
    return best;
}

/* Plain q.k from weights needs no mask: what is hidden takes no part. */
static factor_fit fit_plain(search *s, const factor_given *given) {
    factor_fit fit = {.verdict = FACTOR_NO_FIT};
    if (s->layer->outputs) return fit_outputs(s, given);
    s->starved = s->starved || !fit_weights(s, &s->plain, given, &fit);
    set_mask_of_weights(s, &s->plain, given, &fit);
    return fit;
}

static factor_fit fit_rule(search *s, const factor_given *given, const scaling *rule, int mask) {
    factor_fit fit = {.verdict = FACTOR_NO_FIT};
    factor_logits_of_rule(&s->ruled, &s->plain, &s->head, &rule->rule, &s->mask[mask]);
    if (s->layer->outputs)
        fit = fit_output(s, &s->ruled, given, mask, 0x1p-6, 0x1p6);
    else
        s->starved = s->starved || !fit_weights(s, &s->ruled, given, &fit);
    fit.rule = rule;
    return fit;
}

static bool depends_on_row(const scaling *rule) {
    return rule->rule.norms != TT_NORMS_NONE || rule->rule.factor != NULL;
}

/* Another mask under which the same rule explains the outputs. */
static void join_masks(search *s, const factor_given *given, int mask, factor_fit *to) {
    for (int m = 0; s->layer->outputs && m < s->masks; m++) {
        if (m == mask || same_rows(s, m, mask)) continue;
        const factor_fit fit = fit_rule(s, given, to->rule, m);
        if (fit.verdict == FACTOR_FOUND) join(to, &fit);
    }
}

/* Tries them under all masks. A rule as it stands, with the factor 1, goes before one with another
 * factor on it, which may have been learned. Where a plain factor does as well (`beside`), only a
 * rule as it stands is taken, and only if that is no chance. */
static bool fit_rules(search *s, const factor_given *given, bool beside, factor_fit *out) {
    const double chance = 1e-5;
    bool found = false;
    for (int r = 0; scaling_at(r); r++)
        for (int m = 0; depends_on_row(scaling_at(r)) && m < s->masks; m++) {
            factor_fit fit = fit_rule(s, given, scaling_at(r), m);
            const bool exact = fabs(fit.factor - 1) <= fit.error + given->computed->unit;
            if (s->starved || fit.verdict != FACTOR_FOUND || (found && !exact)) continue;
            if (beside && !(exact && fit.error <= chance && fit.differences >= FACTOR_ENOUGH))
                continue;
            if (!s->layer->outputs) set_mask_of_weights(s, &s->ruled, given, &fit);
            join_masks(s, given, m, &fit);
            *out = fit;
            found = true;
            if (exact) return true;
        }
    return found;
}

/* A factor that is no usual number may be that of a rule where all rows are alike. */
static bool is_usual(const search *s, const factor_fit *fit) {
    const factor_number *found[FACTOR_NUMBERS_MOST];
    return factor_numbers_match(&s->layer->numbers, fit->factor, fit->error, fit->computed->unit,
                                found) > 0;
}

/* Rounding to a coarser format leaves residuals of its own size everywhere: where they are far
 * below, a few weights are off and not all; that it explains what a finer one does not is believed
 * where there is enough to explain. The misfit of right ones was from 0.06 to 0.3, in layers of
 * PyTorch with logits in bfloat16 and float16, and with TF32 emulated. */
static void doubt(const search *s, factor_fit *fit) {
    const tt_size enough = s->layer->outputs ? 8 * FACTOR_ENOUGH : FACTOR_ENOUGH;
    if (fit->verdict != FACTOR_FOUND) return;
    if (fit->misfit < 0.02)
        fit->verdict = FACTOR_NO_FIT;
    else if (fit->misfit > 1 || fit->differences < enough)
        fit->verdict = FACTOR_UNKNOWN;
}

static factor_fit fit_in(search *s, const number_format *computed) {
    const factor_given given = {s->file, s->layer->format, computed};
    s->computed = computed;
    factor_fit fit = fit_plain(s, &given);
    const bool none = fit.verdict == FACTOR_NO_FIT;
    if (none || (fit.verdict == FACTOR_FOUND && !is_usual(s, &fit)))
        (void)fit_rules(s, &given, !none, &fit);
    if (computed != s->layer->format) doubt(s, &fit);
    return fit;
}

/* The formats that logits may have been rounded to, from the one given to the coarsest. */
static factor_fit explain(search *s) {
    const factor_fit first = fit_in(s, s->layer->format);
    factor_fit fit = first;
    for (int i = 3; i >= 0 && fit.verdict == FACTOR_NO_FIT && !s->starved; i--)
        if (format_at(i)->bits < s->layer->format->bits) fit = fit_in(s, format_at(i));
    return fit.verdict == FACTOR_NO_FIT ? first : fit;
}

static void fit_head(void *context, tt_size entry) {
    const work *w = context;
    const factor_layer *l = w->layer;
    const tt_size size = l->queries * (l->outputs ? w->files->d_v : l->keys);
    search s = {.layer = l,
                .file = w->file,
                .head = head_files_at(w->files, entry),
                .given = w->file->data + entry * size};
    if (search_new(&s))
        l->fit[entry] = explain(&s);
    else
        s.starved = true;
    w->starved[entry] = s.starved;
    search_free(&s);
}

/* ---- The layer ------------------------------------------------------------------------------- */

/* Sums of rows that are numbers and not all 0; a row of n weights is rounded n times. */
static void set_sums(factor_layer *l, const array *a) {
    const double n = (double)l->keys, sum = l->format->bits < 53 ? 0x1p-24 : 0x1p-53;
    const double off =
        4 * l->format->unit + n * (l->format->underflow + array_half_digit(a, 0.01) + sum);
    l->sum_least = l->sum_most = 1;
    for (ptrdiff_t i = 0; !l->outputs && i < array_count(a); i += l->keys) {
        double row = 0;
        for (tt_size j = 0; j < l->keys; j++) row += a->data[i + j];
        if (!isfinite(row) || row == 0 || fabs(row - 1) <= off) continue;
        l->sum_least = fmin(l->sum_least, row);
        l->sum_most = fmax(l->sum_most, row);
    }
}

/* The weighted mean of the heads' factors, if it explains each of them. */
static factor_fit whole_of(const factor_layer *l) {
    const tt_size heads = l->batch * l->heads;
    factor_fit whole = {.verdict = FACTOR_UNKNOWN, .factor = NAN, .error = NAN};
    double weight = 0, sum = 0;
    const factor_fit *first = NULL;
    bool agree = true;
    for (tt_size e = 0; e < heads; e++) {
        const factor_fit *x = &l->fit[e];
        agree = agree && x->verdict != FACTOR_NO_FIT;
        if (x->verdict != FACTOR_FOUND) continue;
        if (!first) first = x;
        agree = agree && x->rule == first->rule;
        const double error = fmax(x->error, 0x1p-300); /* 0 where all is exact */
        weight += 1 / (error * error);
        sum += x->factor / (error * error);
        whole.rows += x->rows;
        whole.differences += x->differences;
        whole.worst = fmax(whole.worst, x->worst);
        whole.misfit = fmax(whole.misfit, x->misfit);
    }
    if (!first) return whole;
    whole.factor = sum / weight;
    whole.error = 1 / sqrt(weight);
    whole.rule = first->rule;
    whole.computed = first->computed;
    whole.mask = first->mask;
    for (tt_size e = 0; e < heads; e++) {
        const factor_fit *x = &l->fit[e];
        if (x->verdict != FACTOR_FOUND) continue;
        agree = agree && fabs(x->factor - whole.factor) <= 1.5 * x->error + whole.error;
        whole.mask.known = whole.mask.known && factor_mask_equal(&x->mask, &first->mask);
    }
    whole.verdict = agree ? FACTOR_FOUND : FACTOR_NO_FIT;
    return whole;
}

/* A head at work keeps so many matrices [Tq,Tk]. */
enum { MATRICES = 6 };

static int threads_that_fit(const head_files *f, int threads) {
    const double head = (double)MATRICES * (double)f->queries * (double)f->keys * sizeof(double);
    const double at_once = machine_memory() / head;
    if (machine_memory() <= 0 || at_once >= threads) return threads;
    return at_once < 1 ? 1 : (int)at_once;
}

static int fit_all(const factor_source *source, const head_files *f, const array *given,
                   factor_layer *l) {
    const tt_size heads = l->batch * l->heads;
    work w = {f, given, l, calloc((size_t)heads, sizeof *w.starved)};
    bool good = w.starved && l->fit;
    if (good) parallel_for(threads_that_fit(f, source->threads), heads, fit_head, &w);
    for (tt_size e = 0; good && e < heads; e++) good = !w.starved[e];
    free(w.starved);
    if (!good) return message_fail(EXIT_FAILED, "out of memory");
    set_sums(l, given);
    l->whole = whole_of(l);
    return EXIT_OK;
}

int factor_layer_of(const char *name, const factor_source *source, const head_files *f,
                    const array *given, factor_layer *out) {
    *out = (factor_layer){.name = name,
                          .outputs = source->outputs,
                          .batch = f->batch,
                          .heads = f->heads,
                          .queries = f->queries,
                          .keys = f->keys,
                          .format = format_of(given)};
    factor_numbers_set(&out->numbers, f, source->d_model);
    out->fit = calloc((size_t)(f->batch * f->heads), sizeof *out->fit);
    const int code = fit_all(source, f, given, out);
    if (code != EXIT_OK) factor_layer_free(out);
    return code;
}

int factor_layer_fit(const char *name, const factor_source *source, const head_files *f,
                     factor_layer *out) {
    array given = {0};
    const int code =
        read_given(source, f, &given) ? factor_layer_of(name, source, f, &given, out) : EXIT_FAILED;
    array_free(&given);
    return code;
}

void factor_layer_free(factor_layer *l) {
    free(l->fit);
    l->fit = NULL;
}
