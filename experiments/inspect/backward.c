#include "inspect/backward.h"

#include <math.h>
#include <stdlib.h>

#include "common/message.h"
#include "common/stats.h"
#include "heads/head_gradients.h"
#include "tt/attention.h"
#include "tt/norm.h"

const char *signal_stat_name(int i) {
    static const char *const NAMES[SIGNAL_STATS + 1] = {
        [SIGNAL_DZ_P10] = "dz_p10",   [SIGNAL_DZ_MEDIAN] = "dz_median",
        [SIGNAL_DZ_P90] = "dz_p90",   [SIGNAL_CARRIERS] = "carrier_rows",
        [SIGNAL_DQ_NORM] = "dq_norm", [SIGNAL_DQ_RMS] = "dq_rms",
        [SIGNAL_DK_NORM] = "dk_norm", [SIGNAL_DK_RMS] = "dk_rms",
    };
    return NAMES[i];
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* What is kept of each row: |dZ|; and in each format its size there, and of each pipeline the size
 * of what it is off by, and that as a share. */
typedef struct rows {
    tt_size count;
    double *size;
    double *size_in[BACKWARD_FORMATS];
    double *off[BACKWARD_FORMATS][PRECISION_PIPELINES];
    double *error[BACKWARD_FORMATS][PRECISION_PIPELINES];
    tt_size zeros[BACKWARD_FORMATS][PRECISION_PIPELINES];
} rows;

/* A visit of all heads. */
typedef struct visit {
    rows all;
    bool rounded;
    tt_size d_v;
    precision_row low;
    tt_size *key;       /* [Tk] those that a row sees */
    double *z, *p;      /* [Tk] */
    double *v, *d_out;  /* [Tk,d_v], [d_v] in a format */
    double *exact, *dz; /* [Tk] */
    double *memory;
} visit;

static double *take(double **from, tt_size count) {
    double *place = *from;
    *from += count;
    return place;
}

static bool visit_new(visit *s, const head_files *f, bool rounded) {
    enum { OF_A_ROW = 1 + BACKWARD_FORMATS * (1 + 2 * PRECISION_PIPELINES), OF_A_KEY = 4 };
    const tt_size count = f->batch * f->heads * f->queries;
    *s = (visit){.rounded = rounded, .d_v = f->d_v};
    s->key = malloc((size_t)f->keys * sizeof *s->key);
    s->memory =
        calloc((size_t)(count * (rounded ? OF_A_ROW : 1) + f->keys * (OF_A_KEY + f->d_v) + f->d_v),
               sizeof *s->memory);
    if (!precision_row_new(&s->low, f->keys) || !s->key || !s->memory) return false;
    double *at = s->memory;
    s->all.size = take(&at, count);
    for (int i = 0; rounded && i < BACKWARD_FORMATS; i++) {
        s->all.size_in[i] = take(&at, count);
        for (int p = 0; p < PRECISION_PIPELINES; p++) {
            s->all.off[i][p] = take(&at, count);
            s->all.error[i][p] = take(&at, count);
        }
    }
    s->z = take(&at, f->keys);
    s->p = take(&at, f->keys);
    s->exact = take(&at, f->keys);
    s->dz = take(&at, f->keys);
    s->v = take(&at, f->keys * f->d_v);
    s->d_out = take(&at, f->d_v);
    return true;
}

static void visit_free(visit *s) {
    precision_row_free(&s->low);
    free(s->key);
    free(s->memory);
}

/* ---- One row in a format --------------------------------------------------------------------- */

/* dZ in float64, from V and dO as the format has them, shifted: nothing cancels. */
static void set_exact(visit *s, tt_size n) {
    double mean = 0;
    tt_size most = 0;
    for (tt_size j = 0; j < n; j++) {
        s->exact[j] = 0;
        for (tt_size c = 0; c < s->d_v; c++) s->exact[j] += s->d_out[c] * s->v[j * s->d_v + c];
        if (s->p[j] > s->p[most]) most = j;
    }
    const double shift = s->exact[most];
    for (tt_size j = 0; j < n; j++) {
        s->exact[j] -= shift;
        mean += s->p[j] * s->exact[j];
    }
    for (tt_size j = 0; j < n; j++) s->exact[j] = s->p[j] * (s->exact[j] - mean);
}

static void add_format(visit *s, int format, const attention_head *head, tt_size query, tt_size n) {
    const number_format *f = format_at(format);
    rows *all = &s->all;
    for (tt_size j = 0; j < n; j++)
        for (tt_size c = 0; c < s->d_v; c++)
            s->v[j * s->d_v + c] = format_round(f, head->v.data[s->key[j] * s->d_v + c]);
    for (tt_size c = 0; c < s->d_v; c++)
        s->d_out[c] = format_round(f, head->d_out.data[query * s->d_v + c]);
    set_exact(s, n);
    all->size_in[format][all->count] = tt_norm(s->exact, n);
    precision_row_forward(&s->low, f, s->z, n, s->v, s->d_out, s->d_v);
    for (int p = 0; p < PRECISION_PIPELINES; p++) {
        precision_row_backward(&s->low, f, p, s->dz);
        all->zeros[format][p] += tt_norm(s->dz, n) == 0;
        for (tt_size j = 0; j < n; j++) s->dz[j] -= s->exact[j];
        const double off = tt_norm(s->dz, n);
        all->off[format][p][all->count] = off;
        all->error[format][p][all->count] = precision_relative(off, s->exact, n);
    }
}

/* ---- All rows -------------------------------------------------------------------------------- */

typedef struct heads_context {
    visit *visit;
    tt_tensor d_out; /* of all heads */
} heads_context;

static bool add_head(void *of, const tt_tape *tape, tt_var output, const attention_head *head,
                     tt_size entry) {
    const heads_context *c = of;
    visit *s = c->visit;
    const tt_tensor z = tt_attention_logits(tape, output), p = tt_attention_weights(tape, output);
    const tt_tensor dz = tt_attention_logits_grad(tape, output);
    attention_head at = *head;
    at.d_out = tt_tensor_matrix(c->d_out, entry);
    for (tt_size i = 0; i < z.rows; i++) {
        tt_size n = 0;
        for (tt_size j = 0; j < z.cols; j++) {
            if (!tt_mask_allows(&head->mask, 0, i, j, z.rows, z.cols)) continue;
            s->key[n] = j;
            s->z[n] = z.data[i * z.cols + j];
            s->p[n++] = p.data[i * z.cols + j];
        }
        if (n < 2) continue;
        s->all.size[s->all.count] = tt_norm(dz.data + i * z.cols, z.cols);
        for (int f = 0; s->rounded && f < BACKWARD_FORMATS; f++) add_format(s, f, &at, i, n);
        s->all.count++;
    }
    return true;
}

/* The share of rows, the largest first, that make 90 % of the sum of squares. */
static double carriers(const double *sorted, tt_size n) {
    const double all = tt_norm(sorted, n);
    double sum = 0;
    tt_size taken = 0;
    while (all > 0 && taken < n && sum < 0.9) {
        const double part = sorted[n - 1 - taken++] / all;
        sum += part * part;
    }
    return (double)taken / (double)n;
}

static void set_errors(const rows *all, layer_backward *out) {
    for (int f = 0; f < BACKWARD_FORMATS; f++)
        for (int p = 0; p < PRECISION_PIPELINES; p++) {
            double *of = out->error[f][p], *error = all->error[f][p];
            stats_sort(error, all->count);
            of[ROUNDING_ZERO_ROWS] = (double)all->zeros[f][p] / (double)all->count;
            of[ROUNDING_MEDIAN_ROW] = stats_quantile(error, all->count, 0.5);
            of[ROUNDING_P90_ROW] = stats_quantile(error, all->count, 0.9);
            of[ROUNDING_WHOLE] = precision_relative(tt_norm(all->off[f][p], all->count),
                                                    all->size_in[f], all->count);
        }
}

static void set_norm(tt_tensor x, double *norm, double *rms) {
    *norm = tt_norm(x.data, tt_tensor_count(x));
    *rms = *norm / sqrt((double)tt_tensor_count(x));
}

static void set_results(const rows *all, const head_gradients *g, layer_backward *out) {
    double *signal = out->signal;
    for (int i = 0; i < SIGNAL_STATS; i++) signal[i] = NAN;
    set_norm(g->of[HEAD_DQ], &signal[SIGNAL_DQ_NORM], &signal[SIGNAL_DQ_RMS]);
    set_norm(g->of[HEAD_DK], &signal[SIGNAL_DK_NORM], &signal[SIGNAL_DK_RMS]);
    out->rows = all->count;
    if (all->count == 0) return;
    stats_sort(all->size, all->count);
    signal[SIGNAL_DZ_P10] = stats_quantile(all->size, all->count, 0.1);
    signal[SIGNAL_DZ_MEDIAN] = stats_quantile(all->size, all->count, 0.5);
    signal[SIGNAL_DZ_P90] = stats_quantile(all->size, all->count, 0.9);
    signal[SIGNAL_CARRIERS] = carriers(all->size, all->count);
    if (out->rounded) set_errors(all, out);
}

static bool all_finite(const rows *all, const head_gradients *g) {
    const tt_tensor dq = g->of[HEAD_DQ], dk = g->of[HEAD_DK];
    return stats_finite(all->size, all->count) && stats_finite(dq.data, tt_tensor_count(dq)) &&
           stats_finite(dk.data, tt_tensor_count(dk));
}

int layer_backward_measure(const char *name, const head_files *f, const tt_scale_rule *rule,
                           uint64_t seed, bool rounded, layer_backward *out) {
    visit s;
    head_gradients g = {{{0, 0, 0, NULL}}};
    tt_tensor drawn = {0, 0, 0, NULL};
    *out = (layer_backward){.name = name, .given = f->d_out.data, .rounded = rounded};
    if (!head_files_fit(f, HEAD_MATRICES)) return EXIT_FAILED;
    if (!f->d_out.data) drawn = head_gradients_draw(f, seed);
    const tt_tensor d_out = tt_tensor_view(f->d_out.data ? f->d_out.data : drawn.data,
                                           f->batch * f->heads, f->queries, f->d_v);
    bool good = (visit_new(&s, f, rounded) && d_out.data) || complain_of_memory();
    heads_context context = {&s, d_out};
    const head_visitor visitor = {add_head, &context};
    good =
        good && head_gradients_compute(&g, f, rule, d_out, &visitor) &&
        (all_finite(&s.all, &g) ||
         complain("layer %s: a gradient is beyond the range of a double; expected smaller numbers",
                  name));
    if (good) set_results(&s.all, &g, out);
    head_gradients_free(&g);
    tt_tensor_free(&drawn);
    visit_free(&s);
    return good ? EXIT_OK : EXIT_FAILED;
}
