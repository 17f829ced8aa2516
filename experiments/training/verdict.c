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

const char *verdict_meaning(int i) {
    static const char *const MEANINGS[VERDICTS + 1] = {
        [TRAINED] = "a tenth of the loss of not attending, or less",
        [EARLY] = "too few steps of this size to say",
        [SLOW] = "not trained, and not stalled",
        [STALLED] = "no better than not attending, and hardly better than halfway",
        [DIVERGED] = "a loss or a weight ceased to be finite"};
    return MEANINGS[i];
}

verdict verdict_of(double ratio, double middle, bool early) {
    if (!isfinite(ratio)) return DIVERGED;
    if (ratio <= 0.1) return TRAINED;
    if (early) return EARLY;
    return ratio >= 1 && ratio > 0.9 * middle ? STALLED : SLOW;
}

/* What one unit of kappa moves the logits by in the long run. */
static double lasting(const recipe *r, const optimizer *o) {
    return o->kind == TT_MOMENTUM ? 1 / (1 - r->momentum) : 1;
}

double travelled(const recipe *r, const optimizer *o, double kappa, tt_size steps) {
    return kappa * lasting(r, o) * recipe_factor_sum(r, steps);
}

double verdict_travelled(const sweep_config *c, const run *r) {
    return travelled(&c->recipe, r->optimizer, r->kappa, r->steps);
}

double verdict_steps_needed(const sweep_config *c, const run *r) {
    return recipe_steps_to(&c->recipe,
                           r->optimizer->enough / (r->kappa * lasting(&c->recipe, r->optimizer)));
}

verdict verdict_of_run(const sweep_config *c, const run *r) {
    return verdict_of(r->ratio, r->middle, verdict_travelled(c, r) < r->optimizer->enough);
}

const char *state_name(state s) {
    static const char *const NAMES[STATES] = {"", "sharper", "flatter", "alike"};
    return NAMES[s];
}

state state_of(verdict v, const ending *e) {
    if (v == TRAINED || v == DIVERGED) return NO_STATE;
    const double sharper = e->entropy_teacher - e->entropy;
    if (e->ratio_rescaled > 0.5 * e->ratio) return ALIKE;
    if (fabs(sharper) <= 0.1 * tt_log((double)e->tokens)) return ALIKE;
    return sharper > 0 ? SHARPER : FLATTER;
}

static double last_of(const run *r, const char *column) {
    return r->rows[r->row_count - 1].value[column_find(column)];
}

state state_of_run(const sweep_config *c, const run *r) {
    if (r->row_count == 0) return NO_STATE;
    const ending e = {.tokens = c->training.tokens,
                      .ratio = last_of(r, "loss") / last_of(r, "loss_uniform"),
                      .ratio_rescaled = last_of(r, "ratio_rescaled"),
                      .entropy = last_of(r, "entropy_mean"),
                      .entropy_teacher = last_of(r, "entropy_teacher")};
    return state_of(verdict_of_run(c, r), &e);
}
