#include "training/student.h"

#include <math.h>
#include <string.h>

#include "common/stats.h"
#include "tt/attention.h"
#include "tt/elementary.h"
#include "tt/ops.h"

bool student_state_new(tt_optim_state *state, tt_optim_kind kind, tt_tensor w) {
    *state = (tt_optim_state){.steps = 0};
    for (int i = 0; i < tt_optim_moments(kind); i++) {
        state->moment[i] = tt_tensor_new(w.batch, w.rows, w.cols);
        if (!state->moment[i].data) return false;
    }
    return true;
}

void student_state_free(tt_optim_state *state) {
    for (int i = 0; i < 2; i++) tt_tensor_free(&state->moment[i]);
}

/* p starts at w times gain. False without memory. */
static bool start(parameter *p, tt_optim_kind kind, tt_tensor w, double gain) {
    p->value = tt_tensor_new(w.batch, w.rows, w.cols);
    p->first = tt_tensor_new(w.batch, w.rows, w.cols);
    p->grad = tt_tensor_new(w.batch, w.rows, w.cols);
    if (!p->value.data || !p->first.data || !p->grad.data) return false;
    for (tt_size i = 0; i < tt_tensor_count(w); i++)
        p->value.data[i] = p->first.data[i] = gain * w.data[i];
    return student_state_new(&p->state, kind, w);
}

bool student_new(student *s, const teacher *t, const student_config *config) {
    const training_config *c = &t->config;
    const recipe *r = config->recipe ? config->recipe : &RECIPE_PLAIN;
    const optimizer *o = config->optimizer ? config->optimizer : optimizer_at(0);
    double zero = 0;
    const tt_tensor from[PARAMETERS] = {c->start_teacher ? t->wq : t->first_wq,
                                        c->start_teacher ? t->wk : t->first_wk, t->first_wv,
                                        tt_tensor_view(&zero, 1, 1, 1)};
    const double gain[PARAMETERS] = {config->gain * scaling_query_gain(config->rule, c->d_k),
                                     config->gain, 1, 1};
    const bool trained[PARAMETERS] = {true, true, c->train_values, r->temperature_lr > 0};
    *s = (student){.rule = config->rule,
                   .recipe = r,
                   .optim = recipe_optim(r, o),
                   .lr = config->lr,
                   .tape = tt_tape_new()};
    bool good = s->tape;
    for (int i = 0; good && i < PARAMETERS; i++)
        if (trained[i]) good = start(&s->parameter[i], o->kind, from[i], gain[i]);
    if (!good) student_free(s);
    return good;
}

void student_free(student *s) {
    for (int i = 0; i < PARAMETERS; i++) {
        parameter *p = &s->parameter[i];
        tt_tensor_free(&p->value);
        tt_tensor_free(&p->grad);
        tt_tensor_free(&p->first);
        student_state_free(&p->state);
    }
    tt_tape_free(s->tape);
    s->tape = NULL;
}

const char *student_learn(student *s, const teacher *t) {
    tt_tape *tape = s->tape;
    tt_var w[PARAMETERS] = {{0, 0}};
    tt_tape_reset(tape);
    tt_var x = tt_const(tape, t->x);
    for (int i = 0; i < PARAMETERS; i++) {
        const parameter *p = &s->parameter[i];
        if (!p->value.data) continue;
        memset(p->grad.data, 0, (size_t)tt_tensor_count(p->grad) * sizeof *p->grad.data);
        w[i] = tt_param(tape, p->value, p->grad);
    }
    s->q = tt_matmul(tape, x, w[WQ]);
    s->k = tt_matmul(tape, x, w[WK]);
    s->v = s->parameter[WV].value.data ? tt_matmul(tape, x, w[WV])
                                       : tt_const(tape, tt_value(t->tape, t->values));
    const tt_attention_options options = {.rule = &s->rule->rule,
                                          .rows = TT_ATTENTION_ALL,
                                          .logit_scale =
                                              s->parameter[TAU].value.data ? &w[TAU] : NULL};
    s->output = tt_attention(tape, s->q, s->k, s->v, options);
    s->loss = tt_mse(tape, s->output, tt_const(tape, tt_value(t->tape, t->target)));
    tt_backward(tape, s->loss);
    return tt_tape_error(tape);
}

bool student_update(student *s) {
    const double factor = recipe_factor(s->recipe, s->steps);
    const tt_tensor clipped[] = {s->parameter[WQ].grad, s->parameter[WK].grad};
    bool finite = true;
    if (isfinite(s->recipe->clip)) (void)tt_clip_global_norm(clipped, 2, s->recipe->clip);
    for (int i = 0; i < PARAMETERS; i++) {
        parameter *p = &s->parameter[i];
        tt_optim optim = s->optim;
        if (!p->value.data || (i == TAU && s->steps < s->recipe->temperature_from)) continue;
        if (i == TAU) optim.weight_decay = 0;
        const double lr = i == TAU ? s->recipe->temperature_lr : s->lr;
        tt_optim_step(&optim, p->value, p->grad, &p->state, lr * factor);
        finite = finite && stats_finite(p->value.data, tt_tensor_count(p->value));
    }
    s->steps++;
    return finite;
}

double student_temperature(const student *s) {
    const tt_tensor tau = s->parameter[TAU].value;
    return tau.data ? tt_exp(tau.data[0]) : 1;
}

double student_loss(const student *s) {
    return tt_value(s->tape, s->loss).data[0];
}

double student_loss_uniform(const student *s, const teacher *t) {
    return loss_uniform(tt_value(s->tape, s->v), tt_value(t->tape, t->target));
}

double training_bytes(const training_config *config, int students, int moments) {
    const double t = (double)config->tokens, rows = (double)config->batch * t, weights = rows * t;
    const double dm = (double)config->d_model, dk = (double)config->d_k, dv = (double)config->d_v;
    const double blocks = 1 << 20; /* what the arena's blocks may leave empty, and the nodes */
    const double trained = 2 * dm * dk + (config->train_values ? dm * dv : 0);
    /* X; the draws; the tape with Q, K, V, O, the attention's logits, weights and their gradient, a
     * hard target's weights and output */
    double of_teacher = rows * dm + 4 * dm * dk + 2 * dm * dv + rows * (2 * dk + 2 * dv) +
                        3 * weights + t * t + (config->hard_target ? weights + rows * dv : 0);
    /* a parameter's value, first value and two gradients, one on the tape, and moments; Q, K, V, O
     * and their gradients; the attention's */
    double of_student =
        (4 + moments) * trained + rows * (4 * dk + 4 * dv) + 3 * weights + t * t + 4 * rows;
    /* what is measured: two score matrices, a rescaled attention of one sequence, two weights as
     * they were and what their change makes of Q, K and the logits */
    double of_meter = 2 * dm * dm + t * (t + dv) + weights + 2 * rows + 2 * dm * dk + 2 * rows * dk;
    return 8 * (of_teacher + students * of_student + of_meter) + blocks * (2 + students);
}
