/* columns.c: a new column is a line of the enum, one of the list and one where it is measured. */
#include "training/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"
#include "training/rescaled.h"
#include "tt/attention.h"
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
    GRAD_WQ_RMS,
    GRAD_WK_RMS,
    LOGIT_STEP,
    ROW_GRAD_MEAN,
    ROW_GRAD_P10,
    ROW_GRAD_MEDIAN,
    ROW_GRAD_P90,
    JACOBIAN_MEAN,
    JACOBIAN_MEDIAN,
    ENTROPY_MEAN,
    MAX_WEIGHT_MEAN,
    LOGIT_STD,
    TEMPERATURE,
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
    [GRAD_WQ_RMS] = {"grad_wq_rms", "dL/dWq per entry: root mean square"},
    [GRAD_WK_RMS] = {"grad_wk_rms", "dL/dWk per entry"},
    [LOGIT_STEP] = {"logit_step", "change of Z by the update, first order: root mean square"},
    [ROW_GRAD_MEAN] = {"row_grad_mean", "|d l_r / d z_r|, l_r row r's own error: mean"},
    [ROW_GRAD_P10] = {"row_grad_p10", "first decile over the B T rows"},
    [ROW_GRAD_MEDIAN] = {"row_grad_median", "median"},
    [ROW_GRAD_P90] = {"row_grad_p90", "last decile"},
    [JACOBIAN_MEAN] = {"jacobian_mean", "|diag(w) - w w^T| of a row, Frobenius: mean"},
    [JACOBIAN_MEDIAN] = {"jacobian_median", "median"},
    [ENTROPY_MEAN] = {"entropy_mean", "entropy of a row's weights, nats: mean"},
    [MAX_WEIGHT_MEAN] = {"max_weight_mean", "largest weight of a row: mean"},
    [LOGIT_STD] = {"logit_std", "standard deviation of all entries of Z"},
    [TEMPERATURE] = {"temperature", "learned factor exp(tau) on the logits, else 1"},
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

const char *column_meaning(int i) {
    return i < COLUMNS ? LIST[i].meaning : NULL;
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
    *m = (meter){.tape = tt_tape_new()};
    m->rows = calloc((size_t)(config->batch * config->tokens), sizeof *m->rows);
    m->its_argmax = calloc((size_t)(config->batch * config->tokens), sizeof *m->its_argmax);
    bool good = m->tape && m->rows && m->its_argmax;
    for (int i = WQ; i <= WK; i++) {
        m->weight[i] = tt_tensor_new(1, config->d_model, config->d_k);
        good = good && m->weight[i].data;
    }
    if (!good) meter_free(m);
    return good;
}

void meter_free(meter *m) {
    tt_tape_free(m->tape);
    free(m->rows);
    free(m->its_argmax);
    for (int i = WQ; i <= WK; i++) tt_tensor_free(&m->weight[i]);
    *m = (meter){.tape = NULL};
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

/* Once for all students of a step. */
static void read_teacher(meter *m, const teacher *t) {
    const tt_tensor w = t->weights;
    const tt_size rows = w.batch * w.rows;
    double entropy = 0;
    if (m->seen == t->steps) return;
    m->seen = t->steps;
    for (tt_size r = 0; r < rows; r++) {
        const tt_rowstats its = tt_rowstats_compute(w.data + r * w.cols, w.cols);
        m->its_argmax[r] = its.argmax;
        entropy += its.entropy;
    }
    m->entropy_teacher = entropy / (double)rows;
}

static void read_sharpness(meter *m, const student *s, const teacher *t, double *out) {
    tt_tensor w = tt_attention_weights(s->tape, s->output);
    tt_tensor z = tt_attention_logits(s->tape, s->output);
    tt_size rows = w.batch * w.rows, agree = 0;
    double entropy = 0, largest = 0;
    read_teacher(m, t);
    for (tt_size r = 0; r < rows; r++) {
        tt_rowstats mine = tt_rowstats_compute(w.data + r * w.cols, w.cols);
        m->rows[r] = mine.jacobian;
        entropy += mine.entropy;
        largest += mine.max_weight;
        agree += mine.argmax == m->its_argmax[r];
    }
    stats_sort(m->rows, rows);
    out[JACOBIAN_MEAN] = stats_mean(m->rows, rows);
    out[JACOBIAN_MEDIAN] = stats_quantile(m->rows, rows, 0.5);
    out[ENTROPY_MEAN] = entropy / (double)rows;
    out[ENTROPY_TEACHER] = m->entropy_teacher;
    out[MAX_WEIGHT_MEAN] = largest / (double)rows;
    out[ARGMAX_AGREEMENT] = (double)agree / (double)rows;
    out[LOGIT_STD] = stats_deviation(z.data, tt_tensor_count(z));
}

static double moved(const student *s) {
    double change = 0, start = 0;
    for (int i = WQ; i <= WK; i++) {
        const tt_tensor now = s->parameter[i].value, first = s->parameter[i].first;
        const tt_size count = tt_tensor_count(now);
        for (tt_size j = 0; j < count; j++) {
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
    return stats_cosine(a.data, b.data, tt_tensor_count(a));
}

static double root_mean_square(tt_tensor t) {
    return tensor_norm(t) / sqrt((double)tt_tensor_count(t));
}

double meter_logit_step(meter *m, const student *s, const teacher *t, tt_tensor dwq, tt_tensor dwk,
                        double dtau) {
    const tt_tensor z = tt_attention_logits(s->tape, s->output);
    tt_tape_reset(m->tape);
    tt_var x = tt_const(m->tape, t->x);
    tt_var dq = tt_matmul(m->tape, x, tt_const(m->tape, dwq));
    tt_var dk = tt_matmul(m->tape, x, tt_const(m->tape, dwk));
    tt_tensor dz = tt_tape_tensor(m->tape, z.batch, z.rows, z.cols);
    if (!dz.data) return -1;
    (void)tt_attention_tangent(s->tape, s->output, tt_value(m->tape, dq), tt_value(m->tape, dk),
                               dtau, dz);
    return root_mean_square(dz);
}

static double log_temperature(const student *s) {
    return s->parameter[TAU].value.data ? s->parameter[TAU].value.data[0] : 0;
}

static double rescaled_ratio(meter *m, const student *s, const teacher *t, double uniform) {
    return rescaled_loss(m->tape, tt_attention_logits(s->tape, s->output), tt_value(s->tape, s->v),
                         tt_value(t->tape, t->target), uniform) /
           uniform;
}

const char *meter_read(meter *m, const student *s, const teacher *t, double *out) {
    out[LOSS] = student_loss(s);
    out[LOSS_UNIFORM] = student_loss_uniform(s, t);
    out[GRAD_WQ] = tensor_norm(s->parameter[WQ].grad);
    out[GRAD_WK] = tensor_norm(s->parameter[WK].grad);
    out[GRAD_Q] = tensor_norm(tt_grad(s->tape, s->q));
    out[GRAD_K] = tensor_norm(tt_grad(s->tape, s->k));
    out[GRAD_WQ_RMS] = root_mean_square(s->parameter[WQ].grad);
    out[GRAD_WK_RMS] = root_mean_square(s->parameter[WK].grad);
    out[TEMPERATURE] = student_temperature(s);
    out[MOVED] = moved(s);
    read_row_gradients(m, s, out);
    read_sharpness(m, s, t, out);
    out[COS_M] = m->brief ? NAN : score_matrix_cosine(m, s, t);
    if (tt_tape_error(m->tape)) return tt_tape_error(m->tape);
    out[RATIO_RESCALED] = m->brief ? NAN : rescaled_ratio(m, s, t, out[LOSS_UNIFORM]);
    out[LOGIT_STEP] = 0;
    for (int i = WQ; i <= WK; i++) {
        const tt_tensor w = s->parameter[i].value;
        memcpy(m->weight[i].data, w.data, (size_t)tt_tensor_count(w) * sizeof *w.data);
    }
    m->log_temperature = log_temperature(s);
    return tt_tape_error(m->tape);
}

const char *meter_read_update(meter *m, const student *s, const teacher *t, double *out) {
    for (int i = WQ; i <= WK; i++) {
        const tt_tensor now = s->parameter[i].value;
        const tt_size count = tt_tensor_count(now);
        for (tt_size j = 0; j < count; j++)
            m->weight[i].data[j] = now.data[j] - m->weight[i].data[j];
    }
    out[LOGIT_STEP] = meter_logit_step(m, s, t, m->weight[WQ], m->weight[WK],
                                       log_temperature(s) - m->log_temperature);
    return tt_tape_error(m->tape);
}
