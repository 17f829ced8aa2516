/* columns.c: see measure.h. */
#include "training/columns.h"

#include <math.h>
#include <stdlib.h>

#include "common/stats.h"
#include "tt/attention.h"
#include "tt/norm.h"
#include "tt/ops.h"
#include "tt/rowstats.h"

const char *const MEASURE_NAMES[MEASURES] = {
    "loss",           "loss_uniform",  "grad_wq",         "grad_wk",          "grad_q",
    "grad_k",         "grad_logits",   "row_grad_mean",   "row_grad_p10",     "row_grad_median",
    "row_grad_p90",   "jacobian_mean", "jacobian_median", "entropy_mean",     "max_weight_mean",
    "logit_std",      "moved",         "entropy_teacher", "argmax_agreement", "cos_m",
    "ratio_rescaled",
};

bool meter_new(meter *m, const model_config *config) {
    m->tape = tt_tape_new();
    m->rows = calloc((size_t)(config->batch * config->tokens), sizeof *m->rows);
    if (m->tape && m->rows) return true;
    meter_free(m);
    return false;
}

void meter_free(meter *m) {
    tt_tape_free(m->tape);
    free(m->rows);
    *m = (meter){NULL, NULL};
}

static double tensor_norm(tt_tensor t) {
    return tt_norm(t.data, tt_tensor_count(t));
}

/* The gradient that passes the softmax, row by row. dL/dz_r is 1/(B T) of d l_r / d z_r. */
static void read_row_gradients(meter *m, const student *s, double *out) {
    tt_tensor dz = tt_attention_logits_grad(s->tape, s->output);
    tt_size rows = dz.batch * dz.rows;
    for (tt_size r = 0; r < rows; r++)
        m->rows[r] = (double)rows * tt_norm(dz.data + r * dz.cols, dz.cols);
    stats_sort(m->rows, rows);
    out[M_GRAD_LOGITS] = tensor_norm(dz);
    out[M_ROW_GRAD_MEAN] = stats_mean(m->rows, rows);
    out[M_ROW_GRAD_P10] = stats_quantile(m->rows, rows, 0.1);
    out[M_ROW_GRAD_MEDIAN] = stats_quantile(m->rows, rows, 0.5);
    out[M_ROW_GRAD_P90] = stats_quantile(m->rows, rows, 0.9);
}

static void read_sharpness(meter *m, const student *s, const lesson *l, double *out) {
    tt_tensor w = tt_attention_weights(s->tape, s->output);
    tt_tensor teacher = tt_attention_weights(l->tape, l->target);
    tt_tensor z = tt_attention_logits(s->tape, s->output);
    tt_size rows = w.batch * w.rows, agree = 0;
    double entropy = 0, entropy_teacher = 0, largest = 0;
    for (tt_size r = 0; r < rows; r++) {
        tt_rowstats mine = tt_rowstats_compute(w.data + r * w.cols, w.cols);
        tt_rowstats its = tt_rowstats_compute(teacher.data + r * w.cols, w.cols);
        m->rows[r] = mine.jacobian;
        entropy += mine.entropy;
        entropy_teacher += its.entropy;
        largest += mine.max_weight;
        agree += mine.argmax == its.argmax;
    }
    stats_sort(m->rows, rows);
    out[M_JACOBIAN_MEAN] = stats_mean(m->rows, rows);
    out[M_JACOBIAN_MEDIAN] = stats_quantile(m->rows, rows, 0.5);
    out[M_ENTROPY_MEAN] = entropy / (double)rows;
    out[M_ENTROPY_TEACHER] = entropy_teacher / (double)rows;
    out[M_MAX_WEIGHT_MEAN] = largest / (double)rows;
    out[M_ARGMAX_AGREEMENT] = (double)agree / (double)rows;
    out[M_LOGIT_STD] = stats_deviation(z.data, tt_tensor_count(z));
}

static double moved(const student *s) {
    tt_tensor now[] = {s->wq, s->wk}, first[] = {s->first_wq, s->first_wk};
    double change = 0, start = 0;
    for (int i = 0; i < 2; i++)
        for (tt_size j = 0; j < tt_tensor_count(now[i]); j++) {
            double difference = now[i].data[j] - first[i].data[j];
            change += difference * difference;
            start += first[i].data[j] * first[i].data[j];
        }
    return sqrt(change / start);
}

/* Cosine of Wq Wk^T and Wq* Wk*^T: a factor s > 0 does not change it. */
static double score_matrix_cosine(meter *m, const student *s, const lesson *l) {
    tt_tape_reset(m->tape);
    tt_var mine = tt_matmul_nt(m->tape, tt_const(m->tape, s->wq), tt_const(m->tape, s->wk));
    tt_var its = tt_matmul_nt(m->tape, tt_const(m->tape, l->wq), tt_const(m->tape, l->wk));
    tt_tensor a = tt_value(m->tape, mine), b = tt_value(m->tape, its);
    if (!a.data || !b.data) return 0; /* the tape has the error */
    double dot = 0;
    for (tt_size i = 0; i < tt_tensor_count(a); i++) dot += a.data[i] * b.data[i];
    double norms = tensor_norm(a) * tensor_norm(b);
    return norms > 0 ? dot / norms : 0;
}

/* The student's loss if its logits were multiplied by 2^octaves. */
static double loss_rescaled(meter *m, const student *s, const lesson *l, double octaves) {
    tt_tape *tape = m->tape;
    tt_tape_reset(tape);
    tt_var z = tt_const(tape, tt_attention_logits(s->tape, s->output));
    tt_var v = tt_const(tape, tt_value(s->tape, s->v));
    tt_var y = tt_const(tape, tt_value(l->tape, l->target));
    tt_var loss =
        tt_mse(tape, tt_matmul(tape, tt_softmax(tape, tt_scale(tape, z, exp2(octaves))), v), y);
    tt_tensor value = tt_value(tape, loss);
    return value.data ? value.data[0] : NAN;
}

/* The smallest ratio that one factor c >= 0 on the logits can give: the best of c = 0 (which is the
 * uniform loss, ratio 1) and c = 2^(k/2), k = -16..4, then golden section over the logarithm of c,
 * half an octave either way. */
static double best_rescaled_ratio(meter *m, const student *s, const lesson *l, double uniform) {
    enum { SECTIONS = 24 }; /* half an octave * 0.618^24 = 1e-5 octaves */
    const double golden = 0.6180339887498949;
    double best = uniform, at = 0;
    bool found = false;
    for (int k = -16; k <= 4; k++) {
        double loss = loss_rescaled(m, s, l, 0.5 * k);
        if (loss < best) {
            best = loss;
            at = 0.5 * k;
            found = true;
        }
    }
    if (!found) return best / uniform;
    double low = at - 0.5, high = at + 0.5;
    double left = high - golden * (high - low), right = low + golden * (high - low);
    double loss_left = loss_rescaled(m, s, l, left), loss_right = loss_rescaled(m, s, l, right);
    for (int i = 0; i < SECTIONS; i++) {
        if (loss_left < loss_right) {
            high = right;
            right = left;
            loss_right = loss_left;
            left = high - golden * (high - low);
            loss_left = loss_rescaled(m, s, l, left);
        } else {
            low = left;
            left = right;
            loss_left = loss_right;
            right = low + golden * (high - low);
            loss_right = loss_rescaled(m, s, l, right);
        }
        best = fmin(best, fmin(loss_left, loss_right));
    }
    return best / uniform;
}

const char *meter_read(meter *m, const student *s, const lesson *l, double *out) {
    out[M_LOSS] = student_loss(s);
    out[M_LOSS_UNIFORM] = student_loss_uniform(s, l);
    out[M_GRAD_WQ] = tensor_norm(s->grad_wq);
    out[M_GRAD_WK] = tensor_norm(s->grad_wk);
    out[M_GRAD_Q] = tensor_norm(tt_grad(s->tape, s->q));
    out[M_GRAD_K] = tensor_norm(tt_grad(s->tape, s->k));
    out[M_MOVED] = moved(s);
    read_row_gradients(m, s, out);
    read_sharpness(m, s, l, out);
    out[M_COS_M] = score_matrix_cosine(m, s, l);
    if (tt_tape_error(m->tape)) return tt_tape_error(m->tape);
    out[M_RATIO_RESCALED] = best_rescaled_ratio(m, s, l, out[M_LOSS_UNIFORM]);
    return tt_tape_error(m->tape);
}
