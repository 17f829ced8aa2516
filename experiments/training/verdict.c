#include "training/verdict.h"

#include <math.h>

#include "tt/elementary.h"

const char *verdict_name(int i) {
    static const char *const NAMES[VERDICTS + 1] = {[TRAINED] = "trained",
                                                    [EARLY] = "early",
                                                    [SLOW] = "slow",
                                                    [STALLED] = "stalled",
                                                    [DIVERGED] = "diverged"};
    return NAMES[i];
}

verdict verdict_of(double ratio, double middle, bool early) {
    if (!isfinite(ratio)) return DIVERGED;
    if (ratio <= 0.1) return TRAINED;
    if (early) return EARLY;
    return ratio >= 1 && ratio > 0.9 * middle ? STALLED : SLOW;
}

/* What one unit of kappa moves the logits by in the long run. */
static double lasting(const sweep_config *c, const run *r) {
    return r->optimizer->kind == TT_MOMENTUM ? 1 / (1 - c->recipe.momentum) : 1;
}

double verdict_travelled(const sweep_config *c, const run *r) {
    return r->kappa * lasting(c, r) * recipe_factor_sum(&c->recipe, r->steps);
}

double verdict_steps_needed(const sweep_config *c, const run *r) {
    return recipe_steps_to(&c->recipe, r->optimizer->enough / (r->kappa * lasting(c, r)));
}

verdict verdict_of_run(const sweep_config *c, const run *r) {
    return verdict_of(r->ratio, r->middle, verdict_travelled(c, r) < r->optimizer->enough);
}

const char *state_name(state s) {
    static const char *const NAMES[STATES] = {"", "sharper", "flatter", "alike"};
    return NAMES[s];
}

static double last_of(const run *r, const char *column) {
    return r->rows[r->row_count - 1].value[column_find(column)];
}

state state_of_run(const sweep_config *c, const run *r) {
    const verdict v = verdict_of_run(c, r);
    if (v == TRAINED || v == DIVERGED || r->row_count == 0) return NO_STATE;
    const double sharper = last_of(r, "entropy_teacher") - last_of(r, "entropy_mean");
    const double ratio = last_of(r, "loss") / last_of(r, "loss_uniform");
    if (last_of(r, "ratio_rescaled") > 0.5 * ratio) return ALIKE;
    if (fabs(sharper) <= 0.1 * tt_log((double)c->training.tokens)) return ALIKE;
    return sharper > 0 ? SHARPER : FLATTER;
}
