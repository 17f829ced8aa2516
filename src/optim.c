#include "tt/optim.h"

#include <math.h>

#include "tt/norm.h"

int tt_optim_moments(tt_optim_kind kind) {
    return kind == TT_SGD ? 0 : kind == TT_MOMENTUM ? 1 : 2;
}

/* x^n by squaring, so that a long run's last power is as exact as the first ones. */
static double power(double x, tt_size n) {
    double result = 1;
    for (; n > 0; n /= 2) {
        if (n % 2 == 1) result *= x;
        x *= x;
    }
    return result;
}

static void momentum_step(const tt_optim *o, tt_tensor value, tt_tensor grad, tt_optim_state *s,
                          double lr) {
    const tt_size count = tt_tensor_count(value);
    double *w = value.data, *b = s->moment[0].data;
    for (tt_size i = 0; i < count; i++) {
        const double g = grad.data[i] + o->weight_decay * w[i];
        b[i] = s->steps == 1 ? g : o->momentum * b[i] + g;
        w[i] -= lr * b[i];
    }
}

static void adam_step(const tt_optim *o, tt_tensor value, tt_tensor grad, tt_optim_state *s,
                      double lr) {
    const tt_size count = tt_tensor_count(value);
    double *w = value.data, *m = s->moment[0].data, *v = s->moment[1].data;
    const double l2 = o->kind == TT_ADAM ? o->weight_decay : 0;
    const double keep = o->kind == TT_ADAMW ? 1 - lr * o->weight_decay : 1;
    const double rate = lr / (1 - power(o->beta1, s->steps));
    const double root = sqrt(1 - power(o->beta2, s->steps));
    for (tt_size i = 0; i < count; i++) {
        const double g = grad.data[i] + l2 * w[i];
        m[i] = o->beta1 * m[i] + (1 - o->beta1) * g;
        v[i] = o->beta2 * v[i] + (1 - o->beta2) * g * g;
        w[i] = keep * w[i] - rate * (m[i] / (sqrt(v[i]) / root + o->eps));
    }
}

static void sgd_step(const tt_optim *o, tt_tensor value, tt_tensor grad, double lr) {
    const tt_size count = tt_tensor_count(value);
    double *w = value.data;
    for (tt_size i = 0; i < count; i++) w[i] -= lr * (grad.data[i] + o->weight_decay * w[i]);
}

void tt_optim_step(const tt_optim *o, tt_tensor value, tt_tensor grad, tt_optim_state *state,
                   double lr) {
    state->steps++;
    if (o->kind == TT_SGD) sgd_step(o, value, grad, lr);
    if (o->kind == TT_MOMENTUM) momentum_step(o, value, grad, state, lr);
    if (o->kind == TT_ADAM || o->kind == TT_ADAMW) adam_step(o, value, grad, state, lr);
}

double tt_clip_global_norm(const tt_tensor *grad, int count, double most) {
    double norm = 0;
    for (int k = 0; k < count; k++) {
        const double both[] = {norm, tt_norm(grad[k].data, tt_tensor_count(grad[k]))};
        norm = tt_norm(both, 2);
    }
    const double factor = most / (norm + 1e-6);
    for (int k = 0; k < count && factor < 1; k++)
        for (tt_size i = 0; i < tt_tensor_count(grad[k]); i++) grad[k].data[i] *= factor;
    return norm;
}
