/* columns.c: a new column is a line of the list, of the names and of the function that measures it.
 */
#include "training/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"
#include "tt/attention.h"
#include "tt/elementary.h"
#include "tt/norm.h"
#include "tt/ops.h"
#include "tt/rowstats.h"

enum {
    LOSS,
    LOSS_UNIFORM,
    GRAD_WQ,
    GRAD_WK,
    GRAD_Q,
    GRAD_K,
    GRAD_LOGITS,
    ROW_GRAD_MEAN,
    ROW_GRAD_P10,
    ROW_GRAD_MEDIAN,
    ROW_GRAD_P90,
    JACOBIAN_MEAN,
    JACOBIAN_MEDIAN,
    ENTROPY_MEAN,
    MAX_WEIGHT_MEAN,
    LOGIT_STD,
    MOVED,
    ENTROPY_TEACHER,
    ARGMAX_AGREEMENT,
    COS_M,
    RATIO_RESCALED,
    COLUMNS
};

static const struct {
    const char *name, *meaning;
} LIST[COLUMNS] = {
    [LOSS] = {"loss", "mean squared error L"},
    [LOSS_UNIFORM] = {"loss_uniform", "L if every weight were 1/T"},
    [GRAD_WQ] = {"grad_wq", "Frobenius norm of dL/dWq"},
    [GRAD_WK] = {"grad_wk", "of dL/dWk"},
    [GRAD_Q] = {"grad_q", "of dL/dQ"},
    [GRAD_K] = {"grad_k", "of dL/dK"},
    [GRAD_LOGITS] = {"grad_logits", "of dL/dZ, Z the softmax's input"},
    [ROW_GRAD_MEAN] = {"row_grad_mean", "|d l_r / d z_r|, l_r row r's own error: mean"},
    [ROW_GRAD_P10] = {"row_grad_p10", "first decile over the B T rows"},
    [ROW_GRAD_MEDIAN] = {"row_grad_median", "median"},
    [ROW_GRAD_P90] = {"row_grad_p90", "last decile"},
    [JACOBIAN_MEAN] = {"jacobian_mean", "|diag(w) - w w^T| of a row, Frobenius: mean"},
    [JACOBIAN_MEDIAN] = {"jacobian_median", "median"},
    [ENTROPY_MEAN] = {"entropy_mean", "entropy of a row's weights, nats: mean"},
    [MAX_WEIGHT_MEAN] = {"max_weight_mean", "largest weight of a row: mean"},
    [LOGIT_STD] = {"logit_std", "standard deviation of all entries of Z"},
    [MOVED] = {"moved", "change of (Wq, Wk) since step 0 over their norm"},
    [ENTROPY_TEACHER] = {"entropy_teacher", "mean entropy of the target's weights"},
    [ARGMAX_AGREEMENT] = {"argmax_agreement", "share of rows with the teacher's largest key"},
    [COS_M] = {"cos_m", "cosine of Wq Wk^T with the teacher's"},
    [RATIO_RESCALED] = {"ratio_rescaled", "loss / loss_uniform after the best scalar"},
};

int columns_count(void) {
    return COLUMNS;
}

const char *column_name(int i) {
    return i < COLUMNS ? LIST[i].name : NULL;
}

int column_find(const char *name) {
    for (int i = 0; i < COLUMNS; i++)
        if (strcmp(LIST[i].name, name) == 0) return i;
    return -1;
}

void columns_help(FILE *to) {
    (void)fputs("Measured columns of the log, before each logged step's update:\n", to);
    for (int i = 0; i < COLUMNS; i++)
        (void)fprintf(to, "  %-16s %s\n", LIST[i].name, LIST[i].meaning);
}

bool meter_new(meter *m, const training_config *config) {
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
    out[GRAD_LOGITS] = tensor_norm(dz);
    out[ROW_GRAD_MEAN] = stats_mean(m->rows, rows);
    out[ROW_GRAD_P10] = stats_quantile(m->rows, rows, 0.1);
    out[ROW_GRAD_MEDIAN] = stats_quantile(m->rows, rows, 0.5);
    out[ROW_GRAD_P90] = stats_quantile(m->rows, rows, 0.9);
}

static void read_sharpness(meter *m, const student *s, const teacher *t, double *out) {
    tt_tensor w = tt_attention_weights(s->tape, s->output);
    tt_tensor its_weights = tt_attention_weights(t->tape, t->target);
    tt_tensor z = tt_attention_logits(s->tape, s->output);
    tt_size rows = w.batch * w.rows, agree = 0;
    double entropy = 0, entropy_teacher = 0, largest = 0;
    for (tt_size r = 0; r < rows; r++) {
        tt_rowstats mine = tt_rowstats_compute(w.data + r * w.cols, w.cols);
        tt_rowstats its = tt_rowstats_compute(its_weights.data + r * w.cols, w.cols);
        m->rows[r] = mine.jacobian;
        entropy += mine.entropy;
        entropy_teacher += its.entropy;
        largest += mine.max_weight;
        agree += mine.argmax == its.argmax;
    }
    stats_sort(m->rows, rows);
    out[JACOBIAN_MEAN] = stats_mean(m->rows, rows);
    out[JACOBIAN_MEDIAN] = stats_quantile(m->rows, rows, 0.5);
    out[ENTROPY_MEAN] = entropy / (double)rows;
    out[ENTROPY_TEACHER] = entropy_teacher / (double)rows;
    out[MAX_WEIGHT_MEAN] = largest / (double)rows;
    out[ARGMAX_AGREEMENT] = (double)agree / (double)rows;
    out[LOGIT_STD] = stats_deviation(z.data, tt_tensor_count(z));
}

static double moved(const student *s) {
    double change = 0, start = 0;
    for (int i = WQ; i <= WK; i++) {
        const tt_tensor now = s->parameter[i].value, first = s->parameter[i].first;
        for (tt_size j = 0; j < tt_tensor_count(now); j++) {
            double difference = now.data[j] - first.data[j];
            change += difference * difference;
            start += first.data[j] * first.data[j];
        }
    }
    return sqrt(change / start);
}

/* Cosine of Wq Wk^T and Wq* Wk*^T: a factor s > 0 does not change it. */
static double score_matrix_cosine(meter *m, const student *s, const teacher *t) {
    tt_tape_reset(m->tape);
    tt_var mine = tt_matmul_nt(m->tape, tt_const(m->tape, s->parameter[WQ].value),
                               tt_const(m->tape, s->parameter[WK].value));
    tt_var its = tt_matmul_nt(m->tape, tt_const(m->tape, t->wq), tt_const(m->tape, t->wk));
    tt_tensor a = tt_value(m->tape, mine), b = tt_value(m->tape, its);
    if (!a.data || !b.data) return 0; /* the tape has the error */
    double dot = 0;
    for (tt_size i = 0; i < tt_tensor_count(a); i++) dot += a.data[i] * b.data[i];
    double norms = tensor_norm(a) * tensor_norm(b);
    return norms > 0 ? dot / norms : 0;
}

/* The student's loss if its logits were multiplied by 2^octaves. */
static double loss_rescaled(meter *m, const student *s, const teacher *t, double octaves) {
    const double factor = tt_exp(octaves * TT_LN2);
    tt_tape *tape = m->tape;
    tt_tape_reset(tape);
    tt_var z = tt_const(tape, tt_attention_logits(s->tape, s->output));
    tt_var v = tt_const(tape, tt_value(s->tape, s->v));
    tt_var y = tt_const(tape, tt_value(t->tape, t->target));
    tt_var loss =
        tt_mse(tape, tt_matmul(tape, tt_softmax(tape, tt_mul_scalar(tape, z, factor)), v), y);
    tt_tensor value = tt_value(tape, loss);
    return value.data ? value.data[0] : NAN;
}

/* The smallest ratio that one factor c >= 0 on the logits can give: the best of c = 0 (which is the
 * uniform loss, ratio 1) and c = 2^(k/2), k = -16..4, then golden section over the logarithm of c,
 * half an octave either way. */
static double best_rescaled_ratio(meter *m, const student *s, const teacher *t, double uniform) {
    enum { SECTIONS = 24 }; /* half an octave * 0.618^24 = 1e-5 octaves */
    const double golden = 0.6180339887498949;
    double best = uniform, at = 0;
    bool found = false;
    for (int k = -16; k <= 4; k++) {
        double loss = loss_rescaled(m, s, t, 0.5 * k);
        if (loss < best) {
            best = loss;
            at = 0.5 * k;
            found = true;
        }
    }
    if (!found) return best / uniform;
    double low = at - 0.5, high = at + 0.5;
    double left = high - golden * (high - low), right = low + golden * (high - low);
    double loss_left = loss_rescaled(m, s, t, left), loss_right = loss_rescaled(m, s, t, right);
    for (int i = 0; i < SECTIONS; i++) {
        if (loss_left < loss_right) {
            high = right;
            right = left;
            loss_right = loss_left;
            left = high - golden * (high - low);
            loss_left = loss_rescaled(m, s, t, left);
        } else {
            low = left;
            left = right;
            loss_left = loss_right;
            right = low + golden * (high - low);
            loss_right = loss_rescaled(m, s, t, right);
        }
        best = fmin(best, fmin(loss_left, loss_right));
    }
    return best / uniform;
}

const char *meter_read(meter *m, const student *s, const teacher *t, double *out) {
    out[LOSS] = student_loss(s);
    out[LOSS_UNIFORM] = student_loss_uniform(s, t);
    out[GRAD_WQ] = tensor_norm(s->parameter[WQ].grad);
    out[GRAD_WK] = tensor_norm(s->parameter[WK].grad);
    out[GRAD_Q] = tensor_norm(tt_grad(s->tape, s->q));
    out[GRAD_K] = tensor_norm(tt_grad(s->tape, s->k));
    out[MOVED] = moved(s);
    read_row_gradients(m, s, out);
    read_sharpness(m, s, t, out);
    out[COS_M] = score_matrix_cosine(m, s, t);
    if (tt_tape_error(m->tape)) return tt_tape_error(m->tape);
    out[RATIO_RESCALED] = best_rescaled_ratio(m, s, t, out[LOSS_UNIFORM]);
    return tt_tape_error(m->tape);
}
