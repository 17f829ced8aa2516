#include "training/kappa.h"

#include <math.h>

#include "training/columns.h"
#include "tt/norm.h"

double kappa_per_lr(const scaling *rule, const optimizer *o, const training_config *config,
                    double gain) {
    const double q = gain * scaling_query_gain(rule, config->d_k), k = gain;
    if (o->normalised)
        return scaling_factor(rule, config->d_k, config->tokens) * (double)config->d_k * (q + k) /
               2;
    return scaling_logit_step(rule, config->d_k, config->tokens) * (q * q + k * k) / 2;
}

/* How far the optimizer's first step at lr 1 moves the logits; negative without memory. The step is
 * taken from weights of zeros, which any decay leaves alone: they are then the change. */
static double first_step(const scaling *rule, const optimizer *o, const recipe *r, double gain,
                         const teacher *t, meter *m) {
    const student_config config = {.rule = rule, .gain = gain};
    const tt_optim optim = recipe_optim(r, o);
    student s;
    double moved = -1;
    if (!student_new(&s, t, &config)) return -1;
    tt_tensor change[2];
    bool good = !student_learn(&s, t);
    for (int i = WQ; i <= WK; i++) {
        const tt_tensor w = s.parameter[i].value;
        tt_optim_state state = {.steps = 0};
        change[i] = tt_tensor_new(w.batch, w.rows, w.cols);
        good = good && change[i].data && student_state_new(&state, o->kind, w);
        if (good) tt_optim_step(&optim, change[i], s.parameter[i].grad, &state, 1);
        student_state_free(&state);
    }
    if (good) moved = meter_logit_step(m, &s, t, change[WQ], change[WK], 0);
    for (int i = WQ; i <= WK; i++) tt_tensor_free(&change[i]);
    student_free(&s);
    return moved;
}

bool kappa_measure(const scaling *const *rule, int count, const optimizer *o, const recipe *r,
                   const training_config *config, double gain, uint64_t seed, double *out) {
    const scaling *const yardstick = scaling_find("sqrt");
    training_config standard = *config;
    teacher t;
    meter m = {.tape = NULL};
    standard.start_teacher = false;
    bool good = teacher_new(&t, &standard, seed) && meter_new(&m, &standard) && teacher_next(&t);
    const double one = good ? first_step(yardstick, o, r, 1, &t, &m) : -1;
    good = good && one >= 0;
    for (int i = 0; good && i < count; i++) {
        const double step = first_step(rule[i], o, r, gain, &t, &m);
        out[i] = kappa_per_lr(yardstick, o, &standard, 1) * (step / one);
        good = step >= 0;
    }
    meter_free(&m);
    teacher_free(&t);
    return good;
}

double kappa_now_of(const student *s, const optimizer *o, tt_size tokens) {
    const tt_tensor wq = s->parameter[WQ].value, wk = s->parameter[WK].value;
    const double q = tt_norm(wq.data, tt_tensor_count(wq));
    const double k = tt_norm(wk.data, tt_tensor_count(wk));
    const double f = student_temperature(s) * scaling_factor(s->rule, wq.cols, tokens);
    const double lr = s->lr * recipe_factor(s->recipe, s->steps);
    if (o->normalised) return lr * f * sqrt((double)wq.cols) * (q + k) / 2;
    return lr * f * f * (q * q + k * k) / 2;
}
