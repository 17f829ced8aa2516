#include "inspect/factor_report.h"

#include <math.h>
#include <string.h>

#include "common/csv.h"
#include "common/text.h"
#include "tt/elementary.h"

/* ---- What a factor is ------------------------------------------------------------------------ */

/* The numbers that it is, if it stands on plain q.k. */
static int matches(const factor_layer *l, const factor_fit *x,
                   const factor_number *found[FACTOR_NUMBERS_MOST]) {
    if (x->verdict != FACTOR_FOUND || x->rule) return 0;
    return factor_numbers_match(&l->numbers, x->factor, x->error, x->computed->unit, found);
}

static bool is_one(const factor_fit *x) {
    return fabs(x->factor - 1) <= x->error + x->computed->unit;
}

static bool is_zero(const factor_fit *x) {
    return !x->rule && fabs(x->factor) <= x->error;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static const char *mask_name(const factor_mask *m) {
    if (!m->known) return "";
    return m->given ? "given" : m->own ? "own" : mask_word((int)m->causal);
}

/* "sqrt", or "twice or width" where both are within the error. */
static void print_numbers(FILE *to, const factor_layer *l, const factor_fit *x) {
    const factor_number *found[FACTOR_NUMBERS_MOST];
    const int count = matches(l, x, found);
    for (int i = 0; i < count; i++) (void)fprintf(to, "%s%s", i ? " or " : "", found[i]->name);
}

static void print_fit(FILE *to, const factor_layer *l, const factor_fit *x) {
    const factor_mask *m = &x->mask;
    (void)fprintf(to, ",%s,%s,%s,%s", l->outputs ? "outputs" : "weights", l->format->name,
                  factor_verdict_name((int)x->verdict), x->rule ? x->rule->name : "q.k");
    csv_known(to, x->factor);
    csv_known(to, x->error);
    (void)fputc(',', to);
    print_numbers(to, l, x);
    (void)fprintf(to, ",%s,%s,%td,%td,%td,%td,%td,%td,%td,%td",
                  x->computed ? x->computed->name : "", mask_name(m), m->window, m->first, m->last,
                  m->hidden, m->unsure, x->against, x->rows, x->differences);
    csv_known(to, x->misfit);
    csv_known(to, x->worst);
    (void)fprintf(to, ",%td,%td\n", x->query, x->column);
}

void factor_report_csv(FILE *to, const factor_layer *layers, int count) {
    (void)fputs(
        "layer,batch,head,source,format,verdict,logits,factor,error,number,logit_format,mask,"
        "window,first_key,end_key,hidden,unsure,against,rows,differences,misfit,worst,"
        "worst_query,worst_column\n",
        to);
    for (int n = 0; n < count; n++) {
        const factor_layer *l = &layers[n];
        for (tt_size e = 0; e < l->batch * l->heads; e++) {
            (void)fprintf(to, "%s,%td,%td", l->name, e / l->heads, e % l->heads);
            print_fit(to, l, &l->fit[e]);
        }
        (void)fprintf(to, "%s,all,all", l->name);
        print_fit(to, l, &l->whole);
    }
}

/* ---- Heads that are alike -------------------------------------------------------------------- */

static bool same_numbers(const factor_layer *l, const factor_fit *a, const factor_fit *b) {
    const factor_number *of_a[FACTOR_NUMBERS_MOST], *of_b[FACTOR_NUMBERS_MOST];
    const int count = matches(l, a, of_a);
    if (count != matches(l, b, of_b)) return false;
    for (int i = 0; i < count; i++)
        if (of_a[i] != of_b[i]) return false;
    return true;
}

static bool alike(const factor_layer *l, const factor_fit *a, const factor_fit *b) {
    if (a->verdict != b->verdict) return false;
    if (a->verdict != FACTOR_FOUND) return true;
    return a->rule == b->rule && a->computed == b->computed && is_zero(a) == is_zero(b) &&
           factor_mask_equal(&a->mask, &b->mask) && same_numbers(l, a, b);
}

/* The first head that this one is like; itself where none before it is. */
static tt_size first_alike(const factor_layer *l, tt_size entry) {
    tt_size first = 0;
    while (first < entry && !alike(l, &l->fit[first], &l->fit[entry])) first++;
    return first;
}

/* Of the heads like `first`: their number, range of factors, largest error; the worst of them. */
typedef struct group {
    tt_size count, worst;
    double least, most, error;
} group;

static group group_of(const factor_layer *l, tt_size first) {
    group g = {0, first, INFINITY, -INFINITY, 0};
    for (tt_size e = first; e < l->batch * l->heads; e++) {
        const factor_fit *x = &l->fit[e];
        if (first_alike(l, e) != first) continue;
        g.count++;
        g.least = fmin(g.least, x->factor);
        g.most = fmax(g.most, x->factor);
        g.error = fmax(g.error, x->error);
        if (x->worst > l->fit[g.worst].worst) g.worst = e;
    }
    return g;
}

static void print_head(FILE *to, const factor_layer *l, tt_size entry) {
    if (l->batch > 1)
        (void)fprintf(to, "%td/%td", entry / l->heads, entry % l->heads);
    else
        (void)fprintf(to, "%td", entry);
}

/* "all 8 heads", "head 3", "heads 0, 2, 5". */
static void print_heads(FILE *to, const factor_layer *l, tt_size first, const group *g) {
    const tt_size heads = l->batch * l->heads;
    const char *before = g->count == 1 ? "head " : "heads ";
    if (g->count == heads && heads > 1) {
        (void)fprintf(to, "all %td heads", heads);
        return;
    }
    for (tt_size e = first; e < heads; e++) {
        if (first_alike(l, e) != first) continue;
        (void)fputs(before, to);
        print_head(to, l, e);
        before = ", ";
    }
}

/* ---- Sentences ------------------------------------------------------------------------------- */

static const char *source_name(const factor_layer *l) {
    return l->outputs ? "outputs" : "weights";
}

/* As many digits as the error leaves. */
static void print_factor(FILE *to, double x, double error) {
    const double digits =
        error > 0 && x != 0 ? floor(1 - tt_log(error / fabs(x)) / tt_log(10)) : 17;
    (void)fprintf(to, "%.*g", (int)fmax(1, fmin(digits, 10)), x);
}

static void print_range(FILE *to, const group *g) {
    print_factor(to, g->least, g->error);
    if (g->most - g->least > 2 * g->error) {
        (void)fputs(" to ", to);
        print_factor(to, g->most, g->error);
    }
    (void)fprintf(to, " +- %.1g", g->error);
}

static void print_meaning(FILE *to, const factor_layer *l, const factor_fit *x) {
    const factor_number *found[FACTOR_NUMBERS_MOST];
    const int count = matches(l, x, found);
    if (is_zero(x)) (void)fprintf(to, ": the %s do not depend on q.k", source_name(l));
    if (count == 0 && !is_zero(x)) (void)fputs(", none of the usual numbers", to);
    const bool firm = x->error <= FACTOR_NUMBER_CHANCE * fabs(x->factor);
    for (int i = 0; i < count; i++) {
        const char *before = !firm ? ", perhaps " : found[i]->value == 1 ? ": " : " = ";
        (void)fprintf(to, "%s%s%s", i ? "; or " : before, found[i]->formula, found[i]->meaning);
    }
}

static void print_mask(FILE *to, const factor_layer *l, const factor_fit *x) {
    char text[FACTOR_MASK_BYTES];
    (void)fprintf(to, ". Mask: %s", factor_mask_text(text, &x->mask));
    if (!l->outputs && x->mask.hidden == 0 && x->mask.unsure > 0)
        (void)fputs(", or one that hides only weights that underflow", to);
    (void)fputs(".\n", to);
}

static void print_found(FILE *to, const factor_layer *l, const factor_fit *x, const group *g) {
    if (x->rule && is_one(x))
        (void)fprintf(to, "the rule %s, %s (its factor is 1 +- %.1g)", x->rule->name,
                      x->rule->formula, g->error);
    else if (x->rule) {
        (void)fprintf(to, "no factor on q.k; the rule %s, %s, times ", x->rule->name,
                      x->rule->formula);
        print_range(to, g);
    } else {
        (void)fputs("scale ", to);
        print_range(to, g);
        print_meaning(to, l, x);
    }
    if (x->computed != l->format)
        (void)fprintf(to, ", if logits were rounded to %d bits as in %s", x->computed->bits,
                      x->computed->bits == 11 ? "float16 and TF32" : x->computed->name);
    print_mask(to, l, x);
}

static void print_no_fit(FILE *to, const factor_layer *l, const group *g) {
    const factor_fit *x = &l->fit[g->worst];
    (void)fprintf(to, "no single factor fits, and none of the rules: at the nearest, %.4g, head ",
                  x->factor);
    print_head(to, l, g->worst);
    (void)fprintf(to, " is off by %.2g roundings at query %td, %s %td.", x->worst, x->query,
                  l->outputs ? "column" : "key", x->column);
    if (l->outputs)
        (void)fputs(" Tried were factors above 0 under the mask of the options, none and causal.",
                    to);
    (void)fputc('\n', to);
}

static void print_unknown(FILE *to, const factor_layer *l, const factor_fit *x) {
    const tt_size found = isnan(x->factor) ? 0 : x->differences;
    (void)fputs("cannot tell. ", to);
    if (l->outputs && found < FACTOR_OUTPUTS)
        (void)fprintf(to, "Needed: %d outputs of rows whose scores differ; found: %td.\n",
                      FACTOR_OUTPUTS, found);
    else if (found < FACTOR_DIFFERENCES)
        (void)fprintf(to,
                      "Needed: %d differences of weights above 0 whose scores differ (a row of n "
                      "has n - 1; one-hot rows have none); found: %td.\n",
                      FACTOR_DIFFERENCES, found);
    else
        (void)fprintf(to, "%td rows leave it at %.2g +- %.1g.\n", x->rows, x->factor, x->error);
}

static void print_group(FILE *to, const factor_layer *l, tt_size first) {
    const group g = group_of(l, first);
    const factor_fit *x = &l->fit[first];
    print_heads(to, l, first, &g);
    (void)fputs(": ", to);
    if (x->verdict == FACTOR_FOUND)
        print_found(to, l, x, &g);
    else if (x->verdict == FACTOR_NO_FIT)
        print_no_fit(to, l, &g);
    else
        print_unknown(to, l, x);
}

/* ---- Against what the options say ------------------------------------------------------------ */

/* Whether a head's factor is that of the rule. */
static bool is_claimed(const factor_layer *l, const factor_fit *x, const scaling *claimed) {
    const tt_scale_rule *rule = &claimed->rule;
    if (x->rule) return x->rule == claimed && is_one(x);
    if (!scaling_is_constant(claimed)) return false;
    const double f = tt_scale_factor(rule, (tt_scale_row){l->numbers.d_k, l->keys, l->keys});
    return fabs(x->factor - f) <= fmax(x->error, x->computed->unit * fabs(f));
}

static void print_claims(FILE *to, const factor_layer *l, const scaling *claimed) {
    tt_size others = 0, against = 0, found = 0;
    for (tt_size e = 0; e < l->batch * l->heads; e++) {
        const factor_fit *x = &l->fit[e];
        found += x->verdict == FACTOR_FOUND;
        others += x->verdict == FACTOR_FOUND && !is_claimed(l, x, claimed);
        against += x->against;
    }
    if (others > 0) {
        (void)fprintf(to, "This is not --scale %s, ", claimed->name);
        if (scaling_is_constant(claimed))
            (void)fprintf(
                to, "%.4g, ",
                tt_scale_factor(&claimed->rule, (tt_scale_row){l->numbers.d_k, l->keys, l->keys}));
        (void)fprintf(to, "of which the tables are (%td of %td heads).\n", others, found);
    }
    if (against > 0)
        (void)fprintf(to, "%td weights contradict the mask of the options.\n", against);
    if (l->sum_least < 1 || l->sum_most > 1)
        (void)fprintf(to,
                      "Rows of weights sum to %.4g to %.4g: something was done to them after the "
                      "softmax, or beside it.\n",
                      l->sum_least, l->sum_most);
}

/* ---- A layer --------------------------------------------------------------------------------- */

typedef struct layer_text {
    const factor_layer *layer;
    const scaling *claimed;
} layer_text;

static void print_layer(FILE *to, const void *context) {
    const layer_text *t = context;
    const factor_layer *l = t->layer;
    (void)fprintf(to, "Factor of layer %s, from its %s (%s), +- four standard errors:\n", l->name,
                  source_name(l), l->format->name);
    for (tt_size e = 0; e < l->batch * l->heads; e++)
        if (first_alike(l, e) == e) print_group(to, l, e);
    print_claims(to, l, t->claimed);
}

void factor_report_layer(FILE *to, const factor_layer *l, const scaling *claimed) {
    const layer_text text = {l, claimed};
    text_flow_from(to, print_layer, &text, 4);
}
