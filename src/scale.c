/* scale.c: see tt/scale.h. */
#include "tt/scale.h"

#include <math.h>
#include <string.h>

/* The paper's illustration; there the constant is learned for each head. */
static const double LOG_CONSTANT = 0.43;

#define FACTOR(name)                                                                               \
    static double name(const tt_scale_rule *rule, tt_size d_k, tt_size visible, tt_size keys)
#define UNUSED(x) ((void)(x))

FACTOR(factor_one) {
    UNUSED(rule), UNUSED(d_k), UNUSED(visible), UNUSED(keys);
    return 1;
}

FACTOR(factor_sqrt) {
    UNUSED(rule), UNUSED(visible), UNUSED(keys);
    return 1 / sqrt((double)d_k);
}

FACTOR(factor_linear) {
    UNUSED(rule), UNUSED(visible), UNUSED(keys);
    return 1 / (double)d_k;
}

FACTOR(factor_log) {
    UNUSED(rule), UNUSED(keys);
    return visible > 0 ? LOG_CONSTANT * log((double)visible) / sqrt((double)d_k) : 0;
}

/* g = log2(n^2 - n); one key has weight 1 under any g. */
FACTOR(factor_cosine) {
    UNUSED(rule), UNUSED(d_k), UNUSED(visible);
    return keys > 1 ? log2((double)keys * (double)(keys - 1)) : 0;
}

/* RMSNorm(x) = sqrt(d_k) x/|x|, so the logits are d_k cos(q, k) / sqrt(d_k). */
FACTOR(factor_rms) {
    UNUSED(rule), UNUSED(visible), UNUSED(keys);
    return sqrt((double)d_k);
}

FACTOR(factor_number) {
    UNUSED(d_k), UNUSED(visible), UNUSED(keys);
    return rule->number;
}

static double squared_one(const tt_scale_rule *rule, tt_size d_k) {
    UNUSED(rule);
    return (double)d_k;
}

static double squared_sqrt(const tt_scale_rule *rule, tt_size d_k) {
    UNUSED(rule), UNUSED(d_k);
    return 1;
}

static double squared_linear(const tt_scale_rule *rule, tt_size d_k) {
    UNUSED(rule);
    return 1 / (double)d_k;
}

static double squared_number(const tt_scale_rule *rule, tt_size d_k) {
    return rule->number * rule->number * (double)d_k;
}

static double query_gain_t5(tt_size d_k) {
    return 1 / sqrt((double)d_k);
}

static const tt_scale_rule RULES[] = {
    {"none", "q.k", "no scale", TT_NORMS_NONE, factor_one, squared_one, NULL, 0},
    {"sqrt", "q.k / sqrt(d_k)", "Vaswani et al. 2017, arXiv 1706.03762, eq. (1)", TT_NORMS_NONE,
     factor_sqrt, squared_sqrt, NULL, 0},
    {"linear", "q.k / d_k", "muP, arXiv 2203.03466", TT_NORMS_NONE, factor_linear, squared_linear,
     NULL, 0},
    {"log", "0.43 ln(n) q.k / sqrt(d_k), n the row's visible keys", "SSMax, arXiv 2501.19399",
     TT_NORMS_NONE, factor_log, NULL, NULL, 0},
    {"keys", "q.k / sum_j |k_j| over the visible keys", "Bernhard, arXiv 2311.09406",
     TT_NORMS_KEY_SUM, factor_one, NULL, NULL, 0},
    {"cosine", "log2(n^2 - n) q.k / (|q||k|), n keys", "QK-norm, arXiv 2010.04245", TT_NORMS_COSINE,
     factor_cosine, NULL, NULL, 0},
    {"t5", "q.k, Wq started d_k^-1/2 as large", "T5, arXiv 1910.10683", TT_NORMS_NONE, factor_one,
     squared_one, query_gain_t5, 0},
    {"rms", "RMSNorm(q).RMSNorm(k) / sqrt(d_k)", "QK normalisation, arXiv 2302.05442",
     TT_NORMS_COSINE, factor_rms, NULL, NULL, 0},
};

const tt_scale_rule *tt_scale_rules(int *count) {
    *count = (int)(sizeof RULES / sizeof *RULES);
    return RULES;
}

const tt_scale_rule *tt_scale_find(const char *name) {
    int count;
    const tt_scale_rule *rules = tt_scale_rules(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(rules[i].name, name) == 0) return &rules[i];
    return NULL;
}

tt_scale_rule tt_scale_number(const char *name, double number) {
    return (tt_scale_rule){name,          "a number times q.k", "given", TT_NORMS_NONE,
                           factor_number, squared_number,       NULL,    number};
}
