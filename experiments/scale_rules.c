/* scale_rules.c: see scale_rules.h. */
#include "scale_rules.h"

#include <math.h>
#include <string.h>

static double factor_none(tt_size d_k) {
    (void)d_k;
    return 1;
}

static double gain_none(tt_size d_k) {
    return (double)d_k;
}

static double factor_sqrt(tt_size d_k) {
    return 1 / sqrt((double)d_k);
}

static double gain_sqrt(tt_size d_k) {
    (void)d_k;
    return 1;
}

static const scale_rule RULES[] = {
    {"none", "q.k", "no scale", factor_none, gain_none},
    {"sqrt", "q.k / sqrt(d_k)", "Vaswani et al. 2017, eq. (1)", factor_sqrt, gain_sqrt},
};

const scale_rule *scale_rules(int *count) {
    *count = (int)(sizeof RULES / sizeof *RULES);
    return RULES;
}

const scale_rule *scale_rule_find(const char *name) {
    int count;
    const scale_rule *rules = scale_rules(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(rules[i].name, name) == 0) return &rules[i];
    return NULL;
}
