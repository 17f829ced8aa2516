#include "precision/measure.h"

#include <math.h>
#include <stdlib.h>

#include "common/stats.h"
#include "training/student.h"
#include "tt/attention.h"
#include "tt/norm.h"
#include "tt/ops.h"

static const training_config EXPERIMENT = {.batch = 32, .tokens = 16, .d_model = 32, .d_v = 32};

/* ---- Cells ----------------------------------------------------------------------------------- */

rounding_cell *rounding_at(const rounding *r, int seed, int d_k, int scale, int format) {
    const rounding_config *c = &r->config;
    const tt_size of_seed = (tt_size)seed * c->d_k_count + d_k;
    return &r->cells[(of_seed * c->scale_count + scale) * c->format_count + format];
}

bool rounding_new(rounding *r, const rounding_config *config) {
    const rounding_config *c = config;
    *r = (rounding){.config = *c};
    r->count = (tt_size)c->seed_count * c->d_k_count * c->scale_count * c->format_count;
    r->cells = calloc((size_t)r->count, sizeof *r->cells);
    if (!r->cells) return false;
    for (int s = 0; s < c->seed_count; s++)
        for (int d = 0; d < c->d_k_count; d++)
            for (int k = 0; k < c->scale_count; k++)
                for (int f = 0; f < c->format_count; f++)
                    *rounding_at(r, s, d, k, f) = (rounding_cell){.seed = c->seed[s],
                                                                  .d_k = c->d_k[d],
                                                                  .scale = c->scale[k],
                                                                  .format = c->format[f]};
    return true;
}

void rounding_free(rounding *r) {
    free(r->cells);
    r->cells = NULL;
}

static training_config experiment_of(int64_t d_k) {
    training_config config = EXPERIMENT;
    config.d_k = (tt_size)d_k;
    return config;
}

/* The attention of a format holds as much as a student's. */
double rounding_bytes(const rounding_config *config) {
    double most = 0;
    for (int d = 0; d < config->d_k_count; d++) {
        const training_config widest = experiment_of(config->d_k[d]);
        most = fmax(most, training_bytes(&widest, 2, 0));
    }
    return most;
}

/* ---- One cell -------------------------------------------------------------------------------- */

/* What a cell is measured from and with, all of one seed and d_k. */
typedef struct bench {
    teacher teacher;
    tt_tape *tape;
    tt_tensor v, d_out;                 /* [B,T,d_v] numbers of the format */
    tt_tensor low[PRECISION_PIPELINES]; /* [B,T,T] dZ */
    double *errors;                     /* [B T] of the rows */
    precision_row row;
} bench;

static void bench_free(bench *b) {
    teacher_free(&b->teacher);
    tt_tape_free(b->tape);
    tt_tensor_free(&b->v);
    tt_tensor_free(&b->d_out);
    for (int p = 0; p < PRECISION_PIPELINES; p++) tt_tensor_free(&b->low[p]);
    free(b->errors);
    precision_row_free(&b->row);
}

static bool bench_new(bench *b, int64_t seed, int64_t d_k) {
    const training_config c = experiment_of(d_k);
    *b = (bench){.tape = tt_tape_new(),
                 .v = tt_tensor_new(c.batch, c.tokens, c.d_v),
                 .d_out = tt_tensor_new(c.batch, c.tokens, c.d_v),
                 .errors = malloc((size_t)(c.batch * c.tokens) * sizeof *b->errors)};
    bool good = precision_row_new(&b->row, c.tokens);
    for (int p = 0; p < PRECISION_PIPELINES; p++) {
        b->low[p] = tt_tensor_new(c.batch, c.tokens, c.tokens);
        good = good && b->low[p].data;
    }
    return good && b->tape && b->v.data && b->d_out.data && b->errors &&
           teacher_new(&b->teacher, &c, (uint64_t)seed) && teacher_next(&b->teacher);
}

static void round_all(const number_format *f, tt_tensor from, tt_tensor to) {
    for (tt_size i = 0; i < tt_tensor_count(from); i++) to.data[i] = format_round(f, from.data[i]);
}

/* Attention with the format's V, and backward from the format's dO. */
static tt_var attend(bench *b, const student *s, const number_format *f) {
    const tt_tape *of = s->tape;
    tt_tape_reset(b->tape);
    round_all(f, tt_value(b->teacher.tape, b->teacher.values), b->v);
    const tt_var v = tt_const(b->tape, b->v);
    const tt_var q = tt_param(b->tape, tt_value(of, s->q), (tt_tensor){0, 0, 0, NULL});
    const tt_var out = tt_attention(b->tape, q, tt_const(b->tape, tt_value(of, s->k)), v,
                                    (tt_attention_options){.rule = &s->rule->rule});
    const tt_var target = tt_matmul(b->tape, tt_const(b->tape, b->teacher.weights), v);
    if (tt_tape_error(b->tape)) return out;
    const tt_tensor o = tt_value(b->tape, out), y = tt_value(b->tape, target);
    for (tt_size i = 0; i < tt_tensor_count(o); i++)
        b->d_out.data[i] = format_round(f, o.data[i] - y.data[i]);
    tt_backward_from(b->tape, out, b->d_out);
    return out;
}

/* dZ of all pipelines, from the logits z [B,T,T]. */
static void compute_low(bench *b, const number_format *f, tt_tensor z) {
    const tt_size keys = z.cols, d_v = b->v.cols;
    for (tt_size r = 0; r < z.batch * z.rows; r++) {
        const double *v = tt_tensor_matrix(b->v, r / z.rows).data;
        precision_row_forward(&b->row, f, z.data + r * keys, keys, v, b->d_out.data + r * d_v, d_v);
        for (int p = 0; p < PRECISION_PIPELINES; p++)
            precision_row_backward(&b->row, f, p, b->low[p].data + r * keys);
    }
}

/* Compares low, which it overwrites, with dz; errors is room for one a row. */
static void compare(tt_tensor low, tt_tensor dz, double *errors, double of[ROUNDING_STATS]) {
    const tt_size n = dz.cols, rows = dz.batch * dz.rows;
    tt_size zeros = 0;
    for (tt_size r = 0; r < rows; r++) {
        double *off = low.data + r * n;
        const double *exact = dz.data + r * n;
        zeros += tt_norm(off, n) == 0;
        for (tt_size j = 0; j < n; j++) off[j] -= exact[j];
        errors[r] = precision_relative(tt_norm(off, n), exact, n);
    }
    stats_sort(errors, rows);
    of[ROUNDING_ZERO_ROWS] = (double)zeros / (double)rows;
    of[ROUNDING_MEDIAN_ROW] = stats_quantile(errors, rows, 0.5);
    of[ROUNDING_P90_ROW] = stats_quantile(errors, rows, 0.9);
    of[ROUNDING_WHOLE] = precision_relative(tt_norm(low.data, rows * n), dz.data, rows * n);
}

static const char *measure_cell(bench *b, const student *s, rounding_cell *c) {
    const tt_var out = attend(b, s, c->format);
    const char *error = tt_tape_error(b->tape);
    if (error) return error;
    const tt_tensor z = tt_attention_logits(b->tape, out);
    if (!stats_finite(z.data, tt_tensor_count(z)))
        return "logits that are not finite: the scale is too large";
    compute_low(b, c->format, z);
    for (int p = 0; p < PRECISION_PIPELINES; p++)
        compare(b->low[p], tt_attention_logits_grad(b->tape, out), b->errors, c->of[p]);
    return NULL;
}

/* ---- The run --------------------------------------------------------------------------------- */

static const char *measure_formats(rounding *r, bench *b, int seed, int d_k, int scale,
                                   progress *p) {
    const student_config config = {.rule = r->config.scale[scale], .gain = 1};
    student s;
    if (!student_new(&s, &b->teacher, &config)) return "out of memory";
    const char *error = student_learn(&s, &b->teacher);
    for (int f = 0; !error && f < r->config.format_count; f++) {
        error = measure_cell(b, &s, rounding_at(r, seed, d_k, scale, f));
        progress_advance(p, 1, 1);
        const rounding_cell *c = rounding_at(r, seed, d_k, scale, f);
        progress_item(p, "d_k %td %s %s seed %td: error %.2g", (tt_size)c->d_k, c->scale->name,
                      c->format->name, (tt_size)c->seed, c->of[0][ROUNDING_MEDIAN_ROW]);
    }
    student_free(&s);
    return error;
}

const char *rounding_measure(rounding *r, progress *p) {
    const char *error = NULL;
    for (int s = 0; s < r->config.seed_count; s++)
        for (int d = 0; !error && d < r->config.d_k_count; d++) {
            bench b;
            if (!bench_new(&b, r->config.seed[s], r->config.d_k[d])) error = "out of memory";
            for (int k = 0; !error && k < r->config.scale_count; k++)
                error = measure_formats(r, &b, s, d, k, p);
            bench_free(&b);
        }
    return error;
}
