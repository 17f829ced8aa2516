/* draw.c: attention itself computes the rows: with V the identity its output is P and the gradient
 * of its output is dP, for any scaling rule with its own backward; with K the identity its scores
 * are Q, so that i.i.d. logits take the same path.
 */
#include "saturation/draw.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/parallel.h"
#include "common/stats.h"
#include "tt/attention.h"
#include "tt/elementary.h"
#include "tt/norm.h"
#include "tt/rng.h"
#include "tt/rowstats.h"

const char *saturation_metric_name(int i) {
    static const char *const NAMES[SAT_METRICS + 1] = {
        [SAT_LOGIT_STD] = "logit_std",
        [SAT_ENTROPY] = "entropy",
        [SAT_ENTROPY_OVER_LN_N] = "entropy_over_ln_n",
        [SAT_MAX_WEIGHT] = "max_weight",
        [SAT_ONE_MINUS_MAX] = "one_minus_max_weight",
        [SAT_PARTICIPATION] = "participation",
        [SAT_JACOBIAN] = "jacobian_norm",
        [SAT_JACOBIAN_SQUARED] = "jacobian_norm_squared",
        [SAT_ROW_GRAD] = "row_grad",
        [SAT_ROW_GRAD_SQUARED] = "row_grad_squared",
        [SAT_DQ] = "dq_norm",
    };
    return NAMES[i];
}

/* ---- Cells ----------------------------------------------------------------------------------- */

saturation_cell *saturation_at(const saturation *s, int level, int keys, int rule) {
    return &s->cells[((tt_size)level * s->config.keys_count + keys) * s->rules + rule];
}

void saturation_free(saturation *s) {
    free(s->cells);
    s->cells = NULL;
}

static bool is_open(const saturation_cell *c) {
    return !c->finished && !c->elsewhere;
}

int saturation_metrics(const saturation *s) {
    return s->config.sigma_count > 0 ? SAT_DQ : SAT_METRICS;
}

tt_size saturation_matrices(const saturation_config *config, int64_t keys) {
    return (tt_size)((config->rows + keys - 1) / keys);
}

/* Normals, and multiply-adds of the two products with K and the two with V for each rule; a normal
 * costs as much as some 60 of these, a weight's exponential and logarithms as some 150. */
static double matrix_work(const saturation *s, const saturation_cell *c) {
    double n = (double)c->keys, width = (double)c->d_k;
    return n * (60 * (2 * width + n) + s->rules * n * (2 * width + 2 * n + 150));
}

tt_size saturation_open(const saturation *s) {
    tt_size count = 0;
    for (tt_size i = 0; i < s->count; i++) count += is_open(&s->cells[i]);
    return count;
}

/* Of all rules at one level and number of keys. */
static double set_work(const saturation *s, int level, int keys) {
    return (double)saturation_matrices(&s->config, s->config.keys[keys]) *
           matrix_work(s, saturation_at(s, level, keys, 0));
}

double saturation_work(const saturation *s) {
    double work = 0;
    for (int x = 0; x < s->levels; x++)
        for (int n = 0; n < s->config.keys_count; n++)
            if (is_open(saturation_at(s, x, n, 0))) work += set_work(s, x, n);
    return work;
}

static bool deal(const saturation *s) {
    const tt_size sets = (tt_size)s->levels * s->config.keys_count;
    double *cost = calloc((size_t)sets, sizeof *cost);
    int *owner = calloc((size_t)sets, sizeof *owner);
    bool good = cost && owner;
    for (int x = 0; good && x < s->levels; x++)
        for (int n = 0; n < s->config.keys_count; n++)
            cost[(tt_size)x * s->config.keys_count + n] = set_work(s, x, n);
    good = good && shard_deal(cost, sets, s->config.shard.count, owner);
    for (tt_size i = 0; good && i < sets; i++)
        for (int k = 0; k < s->rules; k++)
            s->cells[i * s->rules + k].elsewhere = owner[i] != s->config.shard.index;
    free(cost);
    free(owner);
    return good;
}

bool saturation_new(saturation *s, const saturation_config *config) {
    const bool by_sigma = config->sigma_count > 0;
    *s = (saturation){.config = *config};
    s->levels = by_sigma ? config->sigma_count : config->d_k_count;
    s->rules = by_sigma ? 1 : config->scale_count;
    s->count = (tt_size)s->levels * config->keys_count * s->rules;
    s->cells = calloc((size_t)s->count, sizeof *s->cells);
    if (!s->cells) return false;
    for (int x = 0; x < s->levels; x++)
        for (int n = 0; n < config->keys_count; n++)
            for (int k = 0; k < s->rules; k++) {
                saturation_cell *c = saturation_at(s, x, n, k);
                c->keys = config->keys[n];
                c->d_k = by_sigma ? config->keys[n] : config->d_k[x];
                c->sigma = by_sigma ? config->sigma[x] : 0;
                c->scale =
                    by_sigma ? scaling_number("sigma", "sigma q.k", c->sigma) : *config->scale[k];
            }
    return config->shard.count == 0 || deal(s);
}

/* Q twice (t5), K, dQ and twelve matrices of n x n, attention's own among them, on every thread;
 * all rows of all rules; the identity. */
double saturation_bytes(const saturation_config *config, int threads) {
    double most = 0;
    for (int n = 0; n < config->keys_count; n++) {
        double keys = (double)config->keys[n], width = keys, rules = 1;
        if (config->sigma_count == 0) {
            rules = config->scale_count;
            for (int d = 0; d < config->d_k_count; d++) width = fmax(width, (double)config->d_k[d]);
        }
        double matrices = (double)saturation_matrices(config, config->keys[n]);
        double doubles = threads * keys * (4 * width + 12 * keys) + keys * keys +
                         matrices * rules * (keys * (double)SAT_METRICS + 2);
        most = fmax(most, doubles * sizeof(double));
    }
    return most;
}

/* ---- One set: what shares random numbers, all rules at one d_k or sigma and one n ------------ */

typedef struct set {
    const saturation *all;
    saturation_cell *cells; /* one a rule */
    tt_size width, keys, matrices, block_matrices;
    uint64_t stream;
    tt_tensor identity; /* [1, n, n] */
    double *values;     /* [rule][metric][row] */
    double *moments;    /* [rule][mean of z, of z^2][matrix] */
    progress *progress;
    const saturation_watch *watch;
    pthread_mutex_t lock; /* guards progress and error */
    const char *error;
} set;

static tt_size row_count(const set *g) {
    return g->matrices * g->keys;
}

static double *values_of(const set *g, int rule, int metric) {
    return g->values + ((tt_size)rule * SAT_METRICS + metric) * row_count(g);
}

static double *moments_of(const set *g, int rule, int power) {
    return g->moments + ((tt_size)rule * 2 + power - 1) * g->matrices;
}

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t stream_of(const saturation *s, const saturation_cell *c) {
    uint64_t x = (uint64_t)c->d_k;
    if (s->config.sigma_count > 0) memcpy(&x, &c->sigma, sizeof x);
    return mix(mix(mix((uint64_t)s->config.seed) ^ x) ^ (uint64_t)c->keys);
}

/* ---- One matrix ------------------------------------------------------------------------------ */

/* What one block works with. */
typedef struct tools {
    tt_rng rng;
    tt_tape *tape;
    tt_tensor q, scaled_q, k, dp;
} tools;

static void tools_free(tools *t) {
    tt_tape_free(t->tape);
    tt_tensor_free(&t->q);
    tt_tensor_free(&t->scaled_q);
    tt_tensor_free(&t->k);
    tt_tensor_free(&t->dp);
}

static bool tools_new(tools *t, const set *g) {
    const bool by_sigma = g->all->config.sigma_count > 0;
    t->tape = tt_tape_new();
    t->q = tt_tensor_new(1, g->keys, g->width);
    t->scaled_q = tt_tensor_new(1, g->keys, g->width);
    t->k = tt_tensor_new(1, by_sigma ? 0 : g->keys, g->width);
    t->dp = tt_tensor_new(1, g->keys, g->keys);
    return t->tape && t->q.data && t->scaled_q.data && t->k.data && t->dp.data;
}

static void draw(tools *t) {
    tt_rng_normal(&t->rng, t->q.data, tt_tensor_count(t->q));
    tt_rng_normal(&t->rng, t->k.data, tt_tensor_count(t->k));
    tt_rng_normal(&t->rng, t->dp.data, tt_tensor_count(t->dp));
}

static double mean_square(const double *x, tt_size n) {
    const double norm = tt_norm(x, n);
    return norm * norm / (double)n;
}

static double sum_of_others(const double *w, tt_size n, tt_size largest) {
    double sum = 0;
    for (tt_size j = 0; j < n; j++)
        if (j != largest) sum += w[j];
    return sum;
}

static void measure_row(double value[SAT_METRICS], const double *z, const double *w,
                        const double *dz, tt_size n, const double *dq, tt_size width) {
    const tt_rowstats s = tt_rowstats_compute(w, n);
    value[SAT_LOGIT_STD] = stats_deviation(z, n);
    value[SAT_ENTROPY] = s.entropy;
    value[SAT_ENTROPY_OVER_LN_N] = s.entropy / tt_log((double)n);
    value[SAT_MAX_WEIGHT] = s.max_weight;
    value[SAT_ONE_MINUS_MAX] = sum_of_others(w, n, s.argmax);
    value[SAT_PARTICIPATION] = s.participation;
    value[SAT_JACOBIAN] = s.jacobian;
    value[SAT_JACOBIAN_SQUARED] = s.jacobian * s.jacobian;
    value[SAT_ROW_GRAD] = tt_norm(dz, n);
    value[SAT_ROW_GRAD_SQUARED] = value[SAT_ROW_GRAD] * value[SAT_ROW_GRAD];
    value[SAT_DQ] = tt_norm(dq, width);
}

/* The queries as the rule starts them. */
static tt_tensor queries(tools *t, const scaling *rule) {
    if (!rule->query_gain) return t->q;
    const double gain = rule->query_gain(t->q.cols);
    for (tt_size i = 0; i < tt_tensor_count(t->q); i++) t->scaled_q.data[i] = gain * t->q.data[i];
    return t->scaled_q;
}

/* Attention and its backward under one rule, and every row's figures. NULL, or what failed. */
static const char *measure_matrix(tools *t, const set *g, int rule, tt_size matrix) {
    const scaling *scale = &g->cells[rule].scale;
    const tt_size n = g->keys;
    tt_tape_reset(t->tape);
    tt_var q = tt_param(t->tape, queries(t, scale), (tt_tensor){0, 0, 0, NULL});
    tt_var k = tt_const(t->tape, t->k.rows > 0 ? t->k : g->identity);
    tt_var out =
        tt_attention(t->tape, q, k, tt_const(t->tape, g->identity),
                     (tt_attention_options){.rule = &scale->rule, .rows = TT_ATTENTION_ALL});
    tt_backward_from(t->tape, out, t->dp);
    if (tt_tape_error(t->tape)) return "out of memory";
    const double *z = tt_attention_logits(t->tape, out).data;
    if (!stats_finite(z, n * n))
        return "logits that are not finite: the scale or sigma is too large";
    const double *w = tt_attention_weights(t->tape, out).data;
    const double *dz = tt_attention_logits_grad(t->tape, out).data;
    const double *dq = tt_grad(t->tape, q).data;
    moments_of(g, rule, 1)[matrix] = stats_mean(z, n * n);
    moments_of(g, rule, 2)[matrix] = mean_square(z, n * n);
    for (tt_size i = 0; i < n; i++) {
        double value[SAT_METRICS];
        measure_row(value, z + i * n, w + i * n, dz + i * n, n, dq + i * g->width, g->width);
        for (int m = 0; m < SAT_METRICS; m++) values_of(g, rule, m)[matrix * n + i] = value[m];
    }
    return NULL;
}

static bool is_stopped(const saturation_watch *watch) {
    return watch && *watch->stop;
}

static void measure_block(void *context, tt_size block) {
    set *g = context;
    tools t;
    const tt_size first = block * g->block_matrices;
    const tt_size end =
        first + g->block_matrices < g->matrices ? first + g->block_matrices : g->matrices;
    (void)pthread_mutex_lock(&g->lock);
    const char *error = g->error;
    (void)pthread_mutex_unlock(&g->lock);
    if (error || is_stopped(g->watch)) return;
    if (!tools_new(&t, g)) error = "out of memory";
    tt_rng_seed(&t.rng, g->stream + (uint64_t)block);
    for (tt_size m = first; !error && m < end; m++) {
        draw(&t);
        for (int k = 0; !error && k < g->all->rules; k++) error = measure_matrix(&t, g, k, m);
    }
    tools_free(&t);
    (void)pthread_mutex_lock(&g->lock);
    if (error) g->error = error;
    progress_advance(g->progress, (end - first) * g->keys,
                     (double)(end - first) * matrix_work(g->all, g->cells));
    (void)pthread_mutex_unlock(&g->lock);
}

/* ---- Statistics ------------------------------------------------------------------------------ */

/* Matrices are independent, the rows of one are not (they share keys): the error of the mean comes
 * from the scatter of the matrices' means. */
static void summarise(double *x, tt_size matrices, tt_size n, saturation_summary *out) {
    double squares = 0;
    out->mean = stats_mean(x, matrices * n);
    for (tt_size m = 0; m < matrices; m++) {
        double off = stats_mean(x + m * n, n) - out->mean;
        squares += off * off;
    }
    out->standard_error =
        matrices > 1 ? sqrt(squares / ((double)matrices * (double)(matrices - 1))) : NAN;
    stats_sort(x, matrices * n);
    out->p10 = stats_quantile(x, matrices * n, 0.1);
    out->median = stats_quantile(x, matrices * n, 0.5);
    out->p90 = stats_quantile(x, matrices * n, 0.9);
}

/* Of a rule's logits in all matrices; the two moments may cancel to less than 0. */
static void pool(const set *g, int rule, saturation_cell *out) {
    const double *first = moments_of(g, rule, 1), *second = moments_of(g, rule, 2);
    const double count = (double)g->matrices, mean = stats_mean(first, g->matrices),
                 square = stats_mean(second, g->matrices);
    double squares = 0;
    for (tt_size m = 0; m < g->matrices; m++) {
        const double off = (second[m] - square) - 2 * mean * (first[m] - mean);
        squares += off * off;
    }
    out->pooled = sqrt(fmax(square - mean * mean, 0));
    out->pooled_error = count > 1 ? sqrt(squares / (count * (count - 1))) / (2 * out->pooled) : NAN;
}

static void summarise_piece(void *context, tt_size i) {
    const set *g = context;
    const int rule = (int)(i / SAT_METRICS), metric = (int)(i % SAT_METRICS);
    if (metric == SAT_LOGIT_STD) pool(g, rule, &g->cells[rule]);
    summarise(values_of(g, rule, metric), g->matrices, g->keys, &g->cells[rule].of[metric]);
}

/* ---- The run --------------------------------------------------------------------------------- */

static const char *run_set(const saturation *s, saturation_cell *cells, progress *p,
                           const saturation_watch *watch) {
    set g = {.all = s,
             .cells = cells,
             .width = (tt_size)cells->d_k,
             .keys = (tt_size)cells->keys,
             .progress = p,
             .watch = watch};
    g.matrices = saturation_matrices(&s->config, g.keys);
    g.block_matrices = g.keys < 512 ? 512 / g.keys : 1;
    g.stream = stream_of(s, cells);
    g.identity = tt_tensor_new(1, g.keys, g.keys);
    g.values = calloc((size_t)s->rules * SAT_METRICS * (size_t)row_count(&g), sizeof *g.values);
    g.moments = calloc((size_t)s->rules * 2 * (size_t)g.matrices, sizeof *g.moments);
    if (!g.identity.data || !g.values || !g.moments || pthread_mutex_init(&g.lock, NULL) != 0)
        g.error = "out of memory";
    if (!g.error) {
        for (tt_size i = 0; i < g.keys; i++) g.identity.data[i * g.keys + i] = 1;
        parallel_for(s->config.threads, (g.matrices + g.block_matrices - 1) / g.block_matrices,
                     measure_block, &g);
        if (!g.error && is_stopped(watch)) g.error = "";
        if (!g.error)
            parallel_for(s->config.threads, (tt_size)s->rules * SAT_METRICS, summarise_piece, &g);
        (void)pthread_mutex_destroy(&g.lock);
    }
    free(g.values);
    free(g.moments);
    tt_tensor_free(&g.identity);
    return g.error;
}

static void done(progress *p, const saturation_cell *c) {
    double entropy = c->of[SAT_ENTROPY].mean;
    if (c->sigma > 0)
        progress_item(p, "sigma %.3g, %td keys: entropy %.2g", c->sigma, (tt_size)c->keys, entropy);
    else
        progress_item(p, "d_k %td %s, %td keys: entropy %.2g", (tt_size)c->d_k, c->scale.name,
                      (tt_size)c->keys, entropy);
}

/* Whether the table of a cell would hold what no double does: logits may be finite, and their
 * squares not. */
static bool overflows(const saturation *s, const saturation_cell *c) {
    bool inf = isinf(c->pooled) || isinf(c->pooled_error);
    for (int m = 0; m < saturation_metrics(s); m++) {
        const saturation_summary *of = &c->of[m];
        inf = inf || isinf(of->mean) || isinf(of->standard_error) || isinf(of->p90);
    }
    return inf;
}

const char *saturation_run(saturation *s, progress *p, const saturation_watch *watch) {
    for (tt_size i = 0; i < s->count; i += s->rules) {
        if (!is_open(&s->cells[i])) continue;
        const char *error = run_set(s, &s->cells[i], p, watch);
        if (error) return error;
        for (int k = 0; k < s->rules; k++) {
            if (overflows(s, &s->cells[i + k]))
                return "logits so large that their squares overflow";
            s->cells[i + k].finished = true;
            done(p, &s->cells[i + k]);
        }
        if (watch && !watch->finished(watch->context, i / s->rules)) return "";
    }
    return NULL;
}
