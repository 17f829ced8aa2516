#include "training/recipe.h"

#include <math.h>
#include <string.h>

static const optimizer OPTIMIZERS[] = {
    {"sgd", TT_SGD, 1, 0, false, 300, "gradient descent: W <- W - lr g"},
    {"momentum", TT_MOMENTUM, 0.1, 0, false, 300,
     "b <- g at first, then momentum b + g; W <- W - lr b"},
    {"adam", TT_ADAM, 0.001, 0, true, 8, "Adam, arXiv 1412.6980; --weight-decay is L2 in g"},
    {"adamw", TT_ADAMW, 0.001, 0.01, true, 8, "AdamW, arXiv 1711.05101; W <- (1 - lr decay) W"},
};

enum { COUNT = sizeof OPTIMIZERS / sizeof *OPTIMIZERS };

const recipe RECIPE_PLAIN = {.momentum = 0.9,
                             .beta1 = 0.9,
                             .beta2 = 0.999,
                             .eps = 1e-8,
                             .weight_decay = NAN,
                             .clip = INFINITY};

const optimizer *optimizer_at(int i) {
    return i < COUNT ? &OPTIMIZERS[i] : NULL;
}

const char *optimizer_name(int i) {
    return i < COUNT ? OPTIMIZERS[i].name : NULL;
}

const optimizer *optimizer_find(const char *name) {
    for (int i = 0; i < COUNT; i++)
        if (strcmp(OPTIMIZERS[i].name, name) == 0) return &OPTIMIZERS[i];
    return NULL;
}

tt_optim recipe_optim(const recipe *r, const optimizer *o) {
    return (tt_optim){.kind = o->kind,
                      .momentum = r->momentum,
                      .beta1 = r->beta1,
                      .beta2 = r->beta2,
                      .eps = r->eps,
                      .weight_decay = isnan(r->weight_decay) ? o->weight_decay : r->weight_decay};
}

double recipe_factor(const recipe *r, tt_size step) {
    double factor = 1;
    for (int i = 0; i < r->schedule_count && r->schedule[i].step <= step; i++)
        factor = r->schedule[i].factor;
    return step + 1 < r->warm_up ? factor * ((double)(step + 1) / (double)r->warm_up) : factor;
}

/* The step from which the factor stays as it is. */
static tt_size settled(const recipe *r) {
    const tt_size last = r->schedule_count > 0 ? r->schedule[r->schedule_count - 1].step : 0;
    return r->warm_up > last ? r->warm_up : last;
}

double recipe_factor_sum(const recipe *r, tt_size steps) {
    double sum = 0;
    const tt_size first = steps < settled(r) ? steps : settled(r);
    for (tt_size t = 0; t < first; t++) sum += recipe_factor(r, t);
    return sum + (double)(steps - first) * recipe_factor(r, settled(r));
}

double recipe_steps_to(const recipe *r, double sum) {
    double so_far = 0;
    for (tt_size t = 0; t < settled(r); t++) {
        if (so_far >= sum) return (double)t;
        so_far += recipe_factor(r, t);
    }
    const double rest = (sum - so_far) / recipe_factor(r, settled(r));
    return (double)settled(r) + (rest > 0 ? ceil(rest) : 0);
}
