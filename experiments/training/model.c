/* model.c: see model.h. Everything numeric is done by the library's operations. */
#include "training/model.h"

#include <math.h>
#include <string.h>

#include "common/stats.h"
#include "tt/attention.h"
#include "tt/ops.h"
#include "tt/optim.h"

static const tt_tensor NO_TENSOR = {0, 0, 0, NULL};

static void draw_weights(tt_rng *rng, tt_tensor w, tt_size d_model) {
    tt_size count = tt_tensor_count(w);
    tt_rng_normal(rng, w.data, count);
    for (tt_size i = 0; i < count; i++) w.data[i] /= sqrt((double)d_model);
}

bool lesson_new(lesson *l, const model_config *config, uint64_t seed) {
    const model_config c = *config;
    memset(l, 0, sizeof *l);
    l->config = c;
    l->wq = tt_tensor_new(1, c.d_model, c.d_k);
    l->wk = tt_tensor_new(1, c.d_model, c.d_k);
    l->wv = tt_tensor_new(1, c.d_model, c.d_v);
    l->student_wq = tt_tensor_new(1, c.d_model, c.d_k);
    l->student_wk = tt_tensor_new(1, c.d_model, c.d_k);
    l->student_wv = c.train_values ? tt_tensor_new(1, c.d_model, c.d_v) : NO_TENSOR;
    l->x = tt_tensor_new(c.batch, c.tokens, c.d_model);
    l->tape = tt_tape_new();
    if (!l->wq.data || !l->wk.data || !l->wv.data || !l->student_wq.data || !l->student_wk.data ||
        (c.train_values && !l->student_wv.data) || !l->x.data || !l->tape) {
        lesson_free(l);
        return false;
    }
    tt_rng_seed(&l->rng, seed);
    draw_weights(&l->rng, l->wq, c.d_model);
    draw_weights(&l->rng, l->wk, c.d_model);
    draw_weights(&l->rng, l->wv, c.d_model);
    draw_weights(&l->rng, l->student_wq, c.d_model);
    draw_weights(&l->rng, l->student_wk, c.d_model);
    if (c.train_values) draw_weights(&l->rng, l->student_wv, c.d_model);
    return true;
}

void lesson_free(lesson *l) {
    tt_tensor *all[] = {&l->wq,         &l->wk,         &l->wv, &l->student_wq,
                        &l->student_wk, &l->student_wv, &l->x};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tt_tensor_free(all[i]);
    tt_tape_free(l->tape);
    l->tape = NULL;
}

bool lesson_next(lesson *l) {
    if (l->steps++ > 0 && l->config.fixed_batch) return true;
    tt_rng_normal(&l->rng, l->x.data, tt_tensor_count(l->x));
    tt_tape_reset(l->tape);
    tt_var x = tt_const(l->tape, l->x);
    tt_var q = tt_matmul(l->tape, x, tt_const(l->tape, l->wq));
    tt_var k = tt_matmul(l->tape, x, tt_const(l->tape, l->wk));
    l->values = tt_matmul(l->tape, x, tt_const(l->tape, l->wv));
    tt_attention_options options = {.scale = 1 / sqrt((double)l->config.d_k)};
    l->target = tt_attention(l->tape, q, k, l->values, options);
    return !tt_tape_error(l->tape);
}

/* A copy of w times gain; data is NULL without memory. */
static tt_tensor copy_times(tt_tensor w, double gain) {
    tt_tensor copy = tt_tensor_new(w.batch, w.rows, w.cols);
    for (tt_size i = 0; copy.data && i < tt_tensor_count(w); i++) copy.data[i] = gain * w.data[i];
    return copy;
}

bool student_new(student *s, const lesson *l, const tt_scale_rule *rule, double gain) {
    const model_config *c = &l->config;
    tt_tensor from_q = c->start_teacher ? l->wq : l->student_wq;
    tt_tensor from_k = c->start_teacher ? l->wk : l->student_wk;
    *s = (student){.rule = rule, .tape = tt_tape_new()};
    const double query_gain = rule->query_gain ? gain * rule->query_gain(c->d_k) : gain;
    s->wq = copy_times(from_q, query_gain);
    s->wk = copy_times(from_k, gain);
    s->first_wq = copy_times(from_q, query_gain);
    s->first_wk = copy_times(from_k, gain);
    s->grad_wq = tt_tensor_new(1, c->d_model, c->d_k);
    s->grad_wk = tt_tensor_new(1, c->d_model, c->d_k);
    bool good = s->tape && s->wq.data && s->wk.data && s->first_wq.data && s->first_wk.data &&
                s->grad_wq.data && s->grad_wk.data;
    if (c->train_values) {
        s->wv = copy_times(l->student_wv, 1);
        s->grad_wv = tt_tensor_new(1, c->d_model, c->d_v);
        good = good && s->wv.data && s->grad_wv.data;
    }
    if (!good) student_free(s);
    return good;
}

void student_free(student *s) {
    tt_tensor *all[] = {&s->wq,      &s->wk,      &s->wv,       &s->grad_wq,
                        &s->grad_wk, &s->grad_wv, &s->first_wq, &s->first_wk};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tt_tensor_free(all[i]);
    tt_tape_free(s->tape);
    s->tape = NULL;
}

static void clear(tt_tensor t) {
    if (t.data) memset(t.data, 0, (size_t)tt_tensor_count(t) * sizeof *t.data);
}

const char *student_learn(student *s, const lesson *l) {
    tt_tape *tape = s->tape;
    clear(s->grad_wq);
    clear(s->grad_wk);
    clear(s->grad_wv);
    tt_tape_reset(tape);
    tt_var x = tt_const(tape, l->x);
    s->q = tt_matmul(tape, x, tt_param(tape, s->wq, s->grad_wq));
    s->k = tt_matmul(tape, x, tt_param(tape, s->wk, s->grad_wk));
    s->v = l->config.train_values ? tt_matmul(tape, x, tt_param(tape, s->wv, s->grad_wv))
                                  : tt_const(tape, tt_value(l->tape, l->values));
    s->output = tt_attention(tape, s->q, s->k, s->v, (tt_attention_options){.rule = s->rule});
    s->loss = tt_mse(tape, s->output, tt_const(tape, tt_value(l->tape, l->target)));
    tt_backward(tape, s->loss);
    return tt_tape_error(tape);
}

bool student_update(student *s, double lr) {
    tt_sgd_step(s->wq, s->grad_wq, lr);
    tt_sgd_step(s->wk, s->grad_wk, lr);
    if (s->wv.data) tt_sgd_step(s->wv, s->grad_wv, lr);
    return stats_finite(s->wq.data, tt_tensor_count(s->wq)) &&
           stats_finite(s->wk.data, tt_tensor_count(s->wk)) &&
           (!s->wv.data || stats_finite(s->wv.data, tt_tensor_count(s->wv)));
}

double student_loss(const student *s) {
    return tt_value(s->tape, s->loss).data[0];
}

double student_loss_uniform(const student *s, const lesson *l) {
    tt_tensor v = tt_value(s->tape, s->v), y = tt_value(l->tape, l->target);
    double sum = 0;
    for (tt_size b = 0; b < v.batch; b++) {
        const double *vb = tt_tensor_matrix(v, b).data, *yb = tt_tensor_matrix(y, b).data;
        for (tt_size c = 0; c < v.cols; c++) {
            double mean = 0;
            for (tt_size t = 0; t < v.rows; t++) mean += vb[t * v.cols + c];
            mean /= (double)v.rows;
            for (tt_size t = 0; t < v.rows; t++) {
                double difference = mean - yb[t * v.cols + c];
                sum += difference * difference;
            }
        }
    }
    return sum / (double)tt_tensor_count(y);
}

double model_bytes(const model_config *config, int students) {
    const double b = (double)config->batch, t = (double)config->tokens;
    const double dm = (double)config->d_model, dk = (double)config->d_k, dv = (double)config->d_v;
    const double rows = b * t, weights = b * t * t;
    const double blocks = 1 << 20; /* what the arena's blocks may leave empty, and the nodes */
    /* X; the draws; the tape with Q, K, V, O, the attention's logits, weights and their gradient */
    double lesson_part =
        rows * dm + 4 * dm * dk + 2 * dm * dv + rows * (2 * dk + 2 * dv) + 3 * weights + t * t;
    /* weights, gradients, first weights, gradients on the tape; Q, K, V, O and their gradients;
     * the attention's; and what the log measures: two score matrices, a rescaled attention */
    double student_part = 8 * dm * dk + 3 * dm * dv + rows * (4 * dk + 4 * dv) + 3 * weights +
                          t * t + 2 * dm * dm + 2 * weights + 2 * rows * dv + 4 * rows;
    return 8 * (lesson_part + students * student_part) + blocks * (1 + 2 * students);
}
