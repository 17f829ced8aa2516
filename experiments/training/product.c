/* product.c: s and exp(tau) multiply M, which is small, and not the logits. */
#include "training/product.h"

#include <math.h>
#include <string.h>

#include "common/stats.h"
#include "tt/elementary.h"
#include "tt/ops.h"

bool product_applies(const scaling *rule, const optimizer *o, const recipe *r,
                     const training_config *config) {
    return scaling_is_constant(rule) && o->kind == TT_SGD && recipe_optim(r, o).weight_decay == 0 &&
           isinf(r->clip) && !config->train_values && 2 * config->d_k >= 3 * config->d_model;
}

/* out = factor X Y^T. False without memory. */
static bool start(tt_tensor *out, tt_tape *tape, tt_tensor x, tt_tensor y, double factor) {
    *out = tt_tensor_new(1, x.rows, y.rows);
    tt_tape_reset(tape);
    const tt_tensor xy = tt_value(tape, tt_matmul_nt(tape, tt_const(tape, x), tt_const(tape, y)));
    if (!out->data || !xy.data) return false;
    for (tt_size i = 0; i < tt_tensor_count(xy); i++) out->data[i] = factor * xy.data[i];
    return true;
}

bool product_new(product *p, tt_tensor wq, tt_tensor wk, const product_config *config,
                 tt_tape *tape) {
    const double k = config->gain, q = k * scaling_query_gain(config->rule, wq.cols);
    const tt_size n = wq.rows;
    *p = (product){.config = *config, .tape = tape};
    if (!p->config.recipe) p->config.recipe = &RECIPE_PLAIN;
    p->gradient = tt_tensor_new(1, n, n);
    p->scaled = tt_tensor_new(1, n, n);
    p->transpose = tt_tensor_new(1, n, n);
    bool good = p->gradient.data && p->scaled.data && p->transpose.data;
    good = good && start(&p->m, tape, wq, wk, q * k) && start(&p->a, tape, wq, wq, q * q) &&
           start(&p->b, tape, wk, wk, k * k);
    if (!good) product_free(p);
    return good;
}

void product_free(product *p) {
    tt_tensor *const all[] = {&p->m, &p->a, &p->b, &p->gradient, &p->scaled, &p->transpose};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tt_tensor_free(all[i]);
}

/* ---- Learning -------------------------------------------------------------------------------- */

/* Once more from the logits down, with their gradient made row by row by another's function. */
static void backward_by_rows(product *p) {
    const tt_tensor w = tt_value(p->tape, p->weights), dw = tt_grad(p->tape, p->weights);
    const tt_tensor dz = tt_tape_tensor(p->tape, w.batch, w.rows, w.cols);
    if (!dz.data || !dw.data) return; /* the tape has the error */
    const tt_size count = tt_tensor_count(w);
    for (tt_size i = 0; i < count; i += w.cols)
        p->config.backward(p->config.context, w.data + i, dw.data + i, w.cols, dz.data + i);
    memset(p->gradient.data, 0, (size_t)tt_tensor_count(p->gradient) * sizeof *dz.data);
    tt_backward_from(p->tape, p->logits, dz);
}

const char *product_learn(product *p, const teacher *t) {
    tt_tape *tape = p->tape;
    const tt_size rows = t->x.rows, count = tt_tensor_count(p->m);
    p->scale = tt_scale_factor(&p->config.rule->rule, (tt_scale_row){t->config.d_k, rows, rows});
    const double factor = tt_exp(p->tau) * p->scale;
    for (tt_size i = 0; i < count; i++) p->scaled.data[i] = factor * p->m.data[i];
    memset(p->gradient.data, 0, (size_t)count * sizeof *p->gradient.data);
    tt_tape_reset(tape);
    const tt_var x = tt_const(tape, t->x);
    const tt_var xm = tt_matmul(tape, x, tt_param(tape, p->scaled, p->gradient));
    p->logits = tt_matmul_nt(tape, xm, x);
    p->weights = tt_softmax(tape, p->logits);
    p->output = tt_matmul(tape, p->weights, tt_const(tape, tt_value(t->tape, t->values)));
    p->loss = tt_mse(tape, p->output, tt_const(tape, tt_value(t->tape, t->target)));
    tt_backward(tape, p->loss);
    if (p->config.backward && !tt_tape_error(tape)) backward_by_rows(p);
    p->dtau = 0; /* sum of dZ Z, which is <G, M> */
    for (tt_size i = 0; i < count; i++) {
        p->gradient.data[i] *= factor;
        p->dtau += p->gradient.data[i] * p->m.data[i];
    }
    return tt_tape_error(tape);
}

/* ---- The step -------------------------------------------------------------------------------- */

static void transpose(tt_tensor from, tt_tensor to) {
    for (tt_size i = 0; i < from.rows; i++)
        for (tt_size j = 0; j < from.cols; j++)
            to.data[j * from.rows + i] = from.data[i * from.cols + j];
}

/* x <- x - h (y + y^T) + h^2 z: A and B stay symmetric but for the rounding of z. */
static void step_symmetric(tt_tensor x, const double *y, const double *z, double h) {
    const tt_size n = x.rows;
    for (tt_size i = 0; i < n; i++)
        for (tt_size j = 0; j < n; j++)
            x.data[i * n + j] -= h * (y[i * n + j] + y[j * n + i]) - h * h * z[i * n + j];
}

const char *product_update(product *p) {
    tt_tape *tape = p->tape;
    const recipe *r = p->config.recipe;
    const double factor = recipe_factor(r, p->steps), h = p->config.lr * factor;
    const tt_size count = tt_tensor_count(p->m);
    transpose(p->gradient, p->transpose);
    const tt_var m = tt_const(tape, p->m), a = tt_const(tape, p->a), b = tt_const(tape, p->b);
    const tt_var g = tt_const(tape, p->gradient), gt = tt_const(tape, p->transpose);
    const tt_var gb = tt_matmul(tape, g, b), ag = tt_matmul(tape, a, g);
    const tt_var gm = tt_matmul_nt(tape, g, m), of_m = tt_matmul(tape, gm, g);
    const tt_var mg = tt_matmul(tape, gt, m), of_a = tt_matmul_nt(tape, gb, g);
    const tt_var of_b = tt_matmul(tape, gt, ag);
    if (tt_tape_error(tape)) return tt_tape_error(tape);
    const double *xgb = tt_value(tape, gb).data, *xag = tt_value(tape, ag).data;
    const double *second = tt_value(tape, of_m).data;
    for (tt_size i = 0; i < count; i++) p->m.data[i] -= h * (xgb[i] + xag[i]) - h * h * second[i];
    step_symmetric(p->a, tt_value(tape, gm).data, tt_value(tape, of_a).data, h);
    step_symmetric(p->b, tt_value(tape, mg).data, tt_value(tape, of_b).data, h);
    if (r->temperature_lr > 0 && p->steps >= r->temperature_from)
        p->tau -= r->temperature_lr * factor * p->dtau;
    p->steps++;
    return NULL;
}

bool product_finite(const product *p) {
    const tt_size count = tt_tensor_count(p->m);
    return stats_finite(p->m.data, count) && stats_finite(p->a.data, count) &&
           stats_finite(p->b.data, count) && isfinite(p->tau);
}

double product_loss(const product *p) {
    return tt_value(p->tape, p->loss).data[0];
}

double product_weights_squared(const product *p) {
    const tt_size n = p->m.rows;
    double sum = 0;
    for (tt_size i = 0; i < n; i++) sum += p->a.data[i * n + i] + p->b.data[i * n + i];
    return sum;
}
