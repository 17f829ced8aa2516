/* scaling.c: factors and table. Where f^2 d_k is written out it is exact, as f * f * d_k is not. */
#include "common/scaling.h"

#include <math.h>
#include <string.h>

#include "tt/elementary.h"

static double sqrt_factor(tt_scale_row row) {
    return 1 / sqrt((double)row.d_k);
}

static double sqrt_logit_step(tt_size d_k) {
    (void)d_k;
    return 1;
}

static double linear_factor(tt_scale_row row) {
    return 1 / (double)row.d_k;
}

static double linear_logit_step(tt_size d_k) {
    return 1 / (double)d_k;
}

/* c = 0.43 is the paper's illustration; there it is learned for each head. */
static double log_factor(tt_scale_row row) {
    return row.visible > 0 ? 0.43 * tt_log((double)row.visible) / sqrt((double)row.d_k) : 0;
}

/* g = log2(n^2 - n) = ln(n^2 - n) / ln 2; one key has weight 1 under any g. */
static double cosine_factor(tt_scale_row row) {
    return row.keys > 1 ? tt_log((double)row.keys * (double)(row.keys - 1)) / TT_LN2 : 0;
}

static double t5_query_gain(tt_size d_k) {
    return 1 / sqrt((double)d_k);
}

/* RMSNorm(x) = sqrt(d_k) x/|x|, so the logits are d_k cos(q, k) / sqrt(d_k). */
static double rms_factor(tt_scale_row row) {
    return sqrt((double)row.d_k);
}

static const scaling SCALINGS[] = {
    {.name = "none", .formula = "q.k", .source = "no scale", .rule = {.number = 1}},
    {.name = "sqrt",
     .formula = "q.k / sqrt(d_k)",
     .source = "Vaswani et al. 2017, arXiv 1706.03762, eq. (1)",
     .rule = {.factor = sqrt_factor, .number = 1},
     .logit_step = sqrt_logit_step},
    {.name = "linear",
     .formula = "q.k / d_k",
     .source = "muP, arXiv 2203.03466",
     .rule = {.factor = linear_factor, .number = 1},
     .logit_step = linear_logit_step},
    {.name = "log",
     .formula = "0.43 ln(n) q.k / sqrt(d_k), n the row's visible keys",
     .source = "SSMax, arXiv 2501.19399",
     .rule = {.factor = log_factor, .number = 1}},
    {.name = "keys",
     .formula = "q.k / sum_j |k_j| over the visible keys",
     .source = "Bernhard, arXiv 2311.09406",
     .rule = {.norms = TT_NORMS_KEY_SUM, .number = 1}},
    {.name = "cosine",
     .formula = "log2(n^2 - n) q.k / (|q||k|), n keys",
     .source = "QK-norm, arXiv 2010.04245",
     .rule = {.norms = TT_NORMS_COSINE, .factor = cosine_factor, .number = 1}},
    {.name = "t5",
     .formula = "q.k, Wq started d_k^-1/2 as large",
     .source = "T5, arXiv 1910.10683",
     .rule = {.number = 1},
     .query_gain = t5_query_gain},
    {.name = "rms",
     .formula = "RMSNorm(q).RMSNorm(k) / sqrt(d_k)",
     .source = "QK normalisation, arXiv 2302.05442",
     .rule = {.norms = TT_NORMS_COSINE, .factor = rms_factor, .number = 1}},
};

enum { COUNT = sizeof SCALINGS / sizeof *SCALINGS };

const scaling *scaling_at(int i) {
    return i < COUNT ? &SCALINGS[i] : NULL;
}

const char *scaling_name(int i) {
    return i < COUNT ? SCALINGS[i].name : NULL;
}

const scaling *scaling_find(const char *name) {
    for (int i = 0; i < COUNT; i++)
        if (strcmp(SCALINGS[i].name, name) == 0) return &SCALINGS[i];
    return NULL;
}

scaling scaling_number(const char *name, const char *formula, double number) {
    return (scaling){
        .name = name, .formula = formula, .source = "given", .rule = {.number = number}};
}

scaling scaling_times(const char *name, const char *formula, const scaling *rule, double number) {
    scaling out = *rule;
    out.name = name;
    out.formula = formula;
    out.rule.number *= number;
    out.logit_step = NULL;
    return out;
}

bool scaling_is_constant(const scaling *s) {
    return s->rule.norms == TT_NORMS_NONE;
}

double scaling_factor(const scaling *s, tt_size d_k, tt_size n) {
    if (!scaling_is_constant(s)) return NAN;
    return fabs(tt_scale_factor(&s->rule, (tt_scale_row){d_k, n, n}));
}

double scaling_logit_step(const scaling *s, tt_size d_k, tt_size n) {
    const double f = scaling_factor(s, d_k, n);
    return s->logit_step ? s->logit_step(d_k) : f * f * (double)d_k;
}

double scaling_query_gain(const scaling *s, tt_size d_k) {
    return s->query_gain ? s->query_gain(d_k) : 1;
}
