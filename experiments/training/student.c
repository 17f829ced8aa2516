#include "training/student.h"

#include <string.h>

#include "common/stats.h"
#include "tt/attention.h"
#include "tt/ops.h"
#include "tt/optim.h"

static int parameters_of(const training_config *c) {
    return c->train_values ? PARAMETERS : WV;
}

static tt_size width_of(const training_config *c, int which) {
    return which == WV ? c->d_v : c->d_k;
}

/* p starts at w times gain. False without memory. */
static bool start(parameter *p, tt_tensor w, double gain) {
    p->value = tt_tensor_new(w.batch, w.rows, w.cols);
    p->first = tt_tensor_new(w.batch, w.rows, w.cols);
    p->grad = tt_tensor_new(w.batch, w.rows, w.cols);
    if (!p->value.data || !p->first.data || !p->grad.data) return false;
    for (tt_size i = 0; i < tt_tensor_count(w); i++)
        p->value.data[i] = p->first.data[i] = gain * w.data[i];
    return true;
}

bool student_new(student *s, const teacher *t, const scaling *rule, double gain) {
    const training_config *c = &t->config;
    const tt_tensor from[PARAMETERS] = {c->start_teacher ? t->wq : t->first_wq,
                                        c->start_teacher ? t->wk : t->first_wk, t->first_wv};
    const double gains[PARAMETERS] = {gain * scaling_query_gain(rule, c->d_k), gain, 1};
    const int count = parameters_of(c);
    *s = (student){.rule = rule, .count = count, .tape = tt_tape_new()};
    bool good = s->tape;
    for (int i = 0; good && i < count; i++) good = start(&s->parameter[i], from[i], gains[i]);
    if (!good) student_free(s);
    return good;
}

void student_free(student *s) {
    for (int i = 0; i < s->count; i++) {
        tt_tensor_free(&s->parameter[i].value);
        tt_tensor_free(&s->parameter[i].grad);
        tt_tensor_free(&s->parameter[i].first);
    }
    tt_tape_free(s->tape);
    s->tape = NULL;
}

const char *student_learn(student *s, const teacher *t) {
    tt_tape *tape = s->tape;
    tt_var w[PARAMETERS] = {{0, 0}};
    tt_tape_reset(tape);
    tt_var x = tt_const(tape, t->x);
    for (int i = 0; i < s->count; i++) {
        const parameter *p = &s->parameter[i];
        memset(p->grad.data, 0, (size_t)tt_tensor_count(p->grad) * sizeof *p->grad.data);
        w[i] = tt_param(tape, p->value, p->grad);
    }
    s->q = tt_matmul(tape, x, w[WQ]);
    s->k = tt_matmul(tape, x, w[WK]);
    s->v = s->count > WV ? tt_matmul(tape, x, w[WV]) : tt_const(tape, tt_value(t->tape, t->values));
    s->output =
        tt_attention(tape, s->q, s->k, s->v, (tt_attention_options){.rule = &s->rule->rule});
    s->loss = tt_mse(tape, s->output, tt_const(tape, tt_value(t->tape, t->target)));
    tt_backward(tape, s->loss);
    return tt_tape_error(tape);
}

bool student_update(student *s, double lr) {
    bool finite = true;
    for (int i = 0; i < s->count; i++) {
        const parameter *p = &s->parameter[i];
        tt_sgd_step(p->value, p->grad, lr);
        finite = finite && stats_finite(p->value.data, tt_tensor_count(p->value));
    }
    return finite;
}

double student_loss(const student *s) {
    return tt_value(s->tape, s->loss).data[0];
}

double student_loss_uniform(const student *s, const teacher *t) {
    tt_tensor v = tt_value(s->tape, s->v), y = tt_value(t->tape, t->target);
    double sum = 0;
    for (tt_size b = 0; b < v.batch; b++) {
        const double *vb = tt_tensor_matrix(v, b).data, *yb = tt_tensor_matrix(y, b).data;
        for (tt_size c = 0; c < v.cols; c++) {
            double mean = 0;
            for (tt_size i = 0; i < v.rows; i++) mean += vb[i * v.cols + c];
            mean /= (double)v.rows;
            for (tt_size i = 0; i < v.rows; i++) {
                double difference = mean - yb[i * v.cols + c];
                sum += difference * difference;
            }
        }
    }
    return sum / (double)tt_tensor_count(y);
}

double training_bytes(const training_config *config, int students) {
    const double t = (double)config->tokens, rows = (double)config->batch * t, weights = rows * t;
    const double dm = (double)config->d_model, dk = (double)config->d_k, dv = (double)config->d_v;
    const double blocks = 1 << 20; /* what the arena's blocks may leave empty, and the nodes */
    double trained = 0;
    for (int i = 0; i < parameters_of(config); i++) trained += dm * (double)width_of(config, i);
    /* X; the draws; the tape with Q, K, V, O, the attention's logits, weights and their gradient */
    double of_teacher =
        rows * dm + 4 * dm * dk + 2 * dm * dv + rows * (2 * dk + 2 * dv) + 3 * weights + t * t;
    /* a parameter's value, first value and two gradients, one on the tape; Q, K, V, O and their
     * gradients; the attention's; and what is measured: two score matrices, a rescaled attention */
    double of_student = 4 * trained + rows * (4 * dk + 4 * dv) + 3 * weights + t * t + 2 * dm * dm +
                        2 * weights + 2 * rows * dv + 4 * rows;
    return 8 * (of_teacher + students * of_student) + blocks * (1 + 2 * students);
}
