/* formats.c: are the verdicts on gradients of a given format (gradcheck/judge.h) right? Right
 * gradients are computed as frameworks compute them, in five orders of operation, in each format,
 * for inputs of many kinds, and wrong ones are made of them. A right element that FAILs or a wrong
 * one that PASSes is an error; beside them stands how many of those that could be told are told.
 *
 *   calibrate-formats [HEADS [SEED]]      of each format and kind; by default 150 heads, seed 1
 *
 * An element could be told where the largest error of the five orders is below 1/20 of it; a fault,
 * where it is at least 100 times that error.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parallel.h"
#include "common/scaling.h"
#include "gradcheck/bounds.h"
#include "gradcheck/judge.h"
#include "tt/rng.h"

enum { ORDERS = 5, FAULTS = 5, TENSORS = 3 };

static const double FACTORS[FAULTS] = {-1, 0, 2, 0.5, 1.01}; /* the last may be confirmed, to 2 % */
enum { MUST_NOT_PASS = 4 };

/* ---- Arithmetic of a format ------------------------------------------------------------------ */

/* A sum is taken in float32, or float64 for that format; `lanes` sums side by side. */
static double sum_of(const number_format *f, const double *x, tt_size x_step, const double *y,
                     tt_size y_step, tt_size n, int lanes) {
    double wide[16] = {0};
    float narrow[16] = {0};
    for (tt_size i = 0; i < n; i++) {
        const tt_size at = lanes < 0 ? n - 1 - i : i; /* backwards */
        const int l = lanes > 1 ? (int)(i % lanes) : 0;
        const double product = x[at * x_step] * y[at * y_step];
        if (f->bits == 53)
            wide[l] += product;
        else
            narrow[l] +=
                f->bits == 24 ? (float)x[at * x_step] * (float)y[at * y_step] : (float)product;
    }
    for (int l = 1; l < lanes; l++) {
        wide[0] += wide[l];
        narrow[0] += narrow[l];
    }
    return f->bits == 53 ? wide[0] : (double)narrow[0];
}

/* ---- A head, and five ways through it -------------------------------------------------------- */

typedef struct head {
    tt_size tq, tk, d, dv;
    tt_tensor q, k, v, g; /* inputs, numbers of the format or not */
    tt_mask mask;
    const scaling *rule;
} head;

/* Scratch of one way, [Tq,Tk] each, and copies of the inputs. */
typedef struct way {
    const head *h;
    const number_format *f;
    int order, lanes;
    tt_tensor q, k, v, g, z, p, dp, ds, o;
    double *factor, *inverse_q, *inverse_k, *key_sum;
} way;

/* Which steps leave what they compute in float32 where the format is narrower: what a framework
 * stores between its operations is in the format, what one of its kernels keeps is not. */
enum { LOGITS = 1, WEIGHTS = 2, DP = 4, DZ = 8 };
static const int LOOSE[ORDERS] = {0, 0, LOGITS | WEIGHTS | DP | DZ, LOGITS | DP, WEIGHTS | DZ};

static double keep(const way *w, int step, double x) {
    if (w->f->bits == 53) return x;
    return LOOSE[w->order] & step ? (double)(float)x : format_round(w->f, x);
}

static double *entry(tt_tensor t, tt_size i, tt_size j) {
    return &t.data[i * t.cols + j];
}

static bool sees(const head *h, tt_size i, tt_size j) {
    return tt_mask_allows(&h->mask, 0, i, j, h->tq, h->tk);
}

/* Rows over their norms, in the format. */
static void normalise(const way *w, tt_tensor x, double *inverse) {
    for (tt_size i = 0; i < x.rows; i++) {
        double *row = x.data + i * x.cols;
        const double norm = format_round(
            w->f, sqrt(format_round(w->f, sum_of(w->f, row, 1, row, 1, x.cols, w->lanes))));
        inverse[i] = norm > 0 ? 1 / norm : 0;
        for (tt_size c = 0; c < x.cols; c++)
            row[c] = norm > 0 ? format_round(w->f, row[c] / norm) : 0;
    }
}

static void set_factors(way *w) {
    const head *h = w->h;
    for (tt_size j = 0; h->rule->rule.norms == TT_NORMS_KEY_SUM && j < h->tk; j++) {
        const double *row = w->k.data + j * h->d;
        w->inverse_k[j] = format_round(
            w->f, sqrt(format_round(w->f, sum_of(w->f, row, 1, row, 1, h->d, w->lanes))));
    }
    for (tt_size i = 0; i < h->tq; i++) {
        tt_size visible = 0;
        double sum = 0;
        for (tt_size j = 0; j < h->tk; j++)
            if (sees(h, i, j)) {
                visible++;
                sum = w->f->bits == 53 ? sum + w->inverse_k[j]
                                       : (double)((float)sum + (float)w->inverse_k[j]);
            }
        const tt_scale_row row = {h->d, visible, h->tk};
        w->factor[i] = tt_scale_factor(&h->rule->rule, row);
        if (h->rule->rule.norms == TT_NORMS_KEY_SUM) {
            w->key_sum[i] = format_round(w->f, sum);
            w->factor[i] = sum > 0 ? w->factor[i] / w->key_sum[i] : 0;
        }
    }
}

static void forward(way *w) {
    const head *h = w->h;
    for (tt_size i = 0; i < h->tq; i++) {
        double most = -INFINITY, total = 0;
        for (tt_size j = 0; j < h->tk; j++) {
            *entry(w->z, i, j) = -INFINITY;
            if (!sees(h, i, j)) continue;
            const double s = keep(
                w, LOGITS,
                sum_of(w->f, w->q.data + i * h->d, 1, w->k.data + j * h->d, 1, h->d, w->lanes));
            *entry(w->z, i, j) = w->order == 1 ? s : keep(w, LOGITS, w->factor[i] * s);
            most = fmax(most, *entry(w->z, i, j));
        }
        for (tt_size j = 0; j < h->tk; j++) {
            const double e = sees(h, i, j) ? exp(keep(w, LOGITS, *entry(w->z, i, j) - most)) : 0;
            *entry(w->p, i, j) = w->f->bits == 53 ? e : (double)(float)e;
            total = w->f->bits == 53 ? total + e : (double)((float)total + (float)e);
        }
        for (tt_size j = 0; j < h->tk; j++)
            *entry(w->p, i, j) = total > 0 ? keep(w, WEIGHTS, *entry(w->p, i, j) / total) : 0;
    }
    for (tt_size i = 0; i < h->tq; i++)
        for (tt_size c = 0; c < h->dv; c++)
            *entry(w->o, i, c) = format_round(
                w->f, sum_of(w->f, entry(w->p, i, 0), 1, w->v.data + c, h->dv, h->tk, w->lanes));
}

/* dS of one row; D is sum P dP or, with order 2, dO.O. */
static void softmax_backward(way *w, tt_size i) {
    const head *h = w->h;
    for (tt_size j = 0; j < h->tk; j++)
        *entry(w->dp, i, j) = sees(h, i, j)
                                  ? keep(w, DP,
                                         sum_of(w->f, w->g.data + i * h->dv, 1,
                                                w->v.data + j * h->dv, 1, h->dv, w->lanes))
                                  : 0;
    const double d =
        keep(w, DZ,
             w->order == 2
                 ? sum_of(w->f, w->g.data + i * h->dv, 1, entry(w->o, i, 0), 1, h->dv, w->lanes)
                 : sum_of(w->f, entry(w->p, i, 0), 1, entry(w->dp, i, 0), 1, h->tk, w->lanes));
    for (tt_size j = 0; j < h->tk; j++) {
        const double dz = keep(w, DZ, *entry(w->p, i, j) * keep(w, DZ, *entry(w->dp, i, j) - d));
        *entry(w->ds, i, j) =
            format_round(w->f, w->order == 1 ? dz : keep(w, DZ, w->factor[i] * dz));
    }
}

/* dx = (dx^ - x^ <x^, dx^>) / |x| in the format, row by row. */
static void norms_backward(const way *w, tt_tensor unit, const double *inverse, tt_tensor dx) {
    for (tt_size i = 0; i < unit.rows; i++) {
        const double *x = unit.data + i * unit.cols;
        double *y = dx.data + i * unit.cols;
        const double t = format_round(w->f, sum_of(w->f, x, 1, y, 1, unit.cols, w->lanes));
        for (tt_size c = 0; c < unit.cols; c++)
            y[c] = format_round(w->f, format_round(w->f, y[c] - format_round(w->f, x[c] * t)) *
                                          inverse[i]);
    }
}

/* The keys' share through the sum of their norms. */
static void key_sum_backward(const way *w, tt_tensor dk) {
    const head *h = w->h;
    for (tt_size j = 0; j < h->tk; j++) {
        double share = 0;
        for (tt_size i = 0; i < h->tq; i++) {
            double r = 0;
            if (!sees(h, i, j) || w->factor[i] == 0) continue;
            for (tt_size l = 0; l < h->tk; l++)
                if (sees(h, i, l)) {
                    const double term = *entry(w->ds, i, l) / w->factor[i] * *entry(w->z, i, l);
                    r = w->f->bits == 53 ? r + term : (double)((float)r + (float)term);
                }
            share += format_round(w->f, format_round(w->f, r) / w->key_sum[i]);
        }
        for (tt_size c = 0; c < h->d && w->inverse_k[j] > 0; c++)
            *entry(dk, j, c) = format_round(
                w->f, *entry(dk, j, c) -
                          format_round(w->f, share * format_round(w->f, *entry(w->k, j, c) /
                                                                            w->inverse_k[j])));
    }
}

static void backward(way *w, tt_tensor out[TENSORS]) {
    const head *h = w->h;
    for (tt_size i = 0; i < h->tq; i++) softmax_backward(w, i);
    for (tt_size i = 0; i < h->tq; i++)
        for (tt_size c = 0; c < h->d; c++) {
            double x = format_round(
                w->f, sum_of(w->f, entry(w->ds, i, 0), 1, w->k.data + c, h->d, h->tk, w->lanes));
            if (w->order == 1) x = format_round(w->f, w->factor[i] * x);
            *entry(out[HEAD_DQ], i, c) = x;
        }
    for (tt_size j = 0; j < h->tk; j++) {
        for (tt_size c = 0; c < h->d; c++)
            *entry(out[HEAD_DK], j, c) =
                format_round(w->f, sum_of(w->f, entry(w->ds, 0, j), h->tk, w->q.data + c, h->d,
                                          h->tq, w->lanes));
        for (tt_size c = 0; c < h->dv; c++) {
            double x[2048]; /* a column of P, in the format where it was not */
            for (tt_size i = 0; i < h->tq; i++) x[i] = format_round(w->f, *entry(w->p, i, j));
            *entry(out[HEAD_DV], j, c) =
                format_round(w->f, sum_of(w->f, x, 1, w->g.data + c, h->dv, h->tq, w->lanes));
        }
    }
    if (h->rule->rule.norms == TT_NORMS_COSINE) {
        norms_backward(w, w->q, w->inverse_q, out[HEAD_DQ]);
        norms_backward(w, w->k, w->inverse_k, out[HEAD_DK]);
    }
    if (h->rule->rule.norms == TT_NORMS_KEY_SUM) key_sum_backward(w, out[HEAD_DK]);
}

static tt_tensor copy_rounded(const number_format *f, tt_tensor x) {
    tt_tensor to = tt_tensor_new(1, x.rows, x.cols);
    for (tt_size i = 0; i < tt_tensor_count(x); i++) to.data[i] = format_round(f, x.data[i]);
    return to;
}

/* 0: as written, every step in the format; 1: q scaled first (not with norms); 2: all in float32 up
 * to dS, D = dO.O; 3: weights and dZ rounded, eight sums side by side; 4: logits and dP rounded,
 * sums backwards. */
static void compute(const head *h, const number_format *f, int order, tt_tensor out[TENSORS]) {
    const bool norms = h->rule->rule.norms != TT_NORMS_NONE;
    way w = {.h = h,
             .f = f,
             .order = norms && order == 1 ? 0 : order,
             .lanes = order == 3   ? 8
                      : order == 4 ? -1
                                   : 1};
    tt_tensor *const scratch[] = {&w.z, &w.p, &w.dp, &w.ds};
    w.q = copy_rounded(f, h->q);
    w.k = copy_rounded(f, h->k);
    w.v = copy_rounded(f, h->v);
    w.g = copy_rounded(f, h->g);
    for (int i = 0; i < 4; i++) *scratch[i] = tt_tensor_new(1, h->tq, h->tk);
    w.o = tt_tensor_new(1, h->tq, h->dv);
    w.factor = calloc((size_t)(3 * h->tq + h->tk), sizeof(double));
    w.inverse_q = w.factor + h->tq;
    w.key_sum = w.inverse_q + h->tq;
    w.inverse_k = w.key_sum + h->tq;
    set_factors(&w);
    if (h->rule->rule.norms == TT_NORMS_COSINE) {
        normalise(&w, w.q, w.inverse_q);
        normalise(&w, w.k, w.inverse_k);
    }
    if (w.order == 1)
        for (tt_size i = 0; i < h->tq; i++)
            for (tt_size c = 0; c < h->d; c++)
                *entry(w.q, i, c) = format_round(f, w.factor[i] * *entry(w.q, i, c));
    forward(&w);
    backward(&w, out);
    tt_tensor *const all[] = {&w.q, &w.k, &w.v, &w.g, &w.z, &w.p, &w.dp, &w.ds, &w.o};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tt_tensor_free(all[i]);
    free(w.factor);
}

/* ---- Kinds of inputs ------------------------------------------------------------------------- */

typedef struct kind {
    const char *name, *rule;
    tt_causal causal;
    double spread; /* of q and k */
    double gain;   /* on dO */
    double offset; /* on V */
    bool equal;    /* all keys and values alike */
    bool whole;    /* whole numbers */
    bool uncast;   /* inputs are no numbers of the format */
    tt_size longest;
    int heads; /* that share keys */
} kind;

static const kind KINDS[] = {
    {"normal", "sqrt", TT_CAUSAL_NONE, 1, 1, 0, false, false, false, 64, 1},
    {"causal", "sqrt", TT_CAUSAL_TOP_LEFT, 1, 1, 0, false, false, false, 64, 1},
    {"no scale", "none", TT_CAUSAL_NONE, 1, 1, 0, false, false, false, 64, 1},
    {"saturated", "none", TT_CAUSAL_BOTTOM_RIGHT, 3, 1, 0, false, false, false, 64, 1},
    {"tiny dO", "sqrt", TT_CAUSAL_NONE, 1, 0x1p-13, 0, false, false, false, 64, 1},
    {"V + 1000.5", "sqrt", TT_CAUSAL_NONE, 1, 1, 1000.5, false, false, false, 64, 1},
    {"equal keys", "sqrt", TT_CAUSAL_NONE, 1, 1, 0, true, false, false, 64, 1},
    {"whole numbers", "sqrt", TT_CAUSAL_NONE, 2, 2, 0, false, true, false, 64, 1},
    {"rounded inputs", "sqrt", TT_CAUSAL_NONE, 1, 1, 0, false, false, true, 64, 1},
    {"shared keys", "sqrt", TT_CAUSAL_NONE, 1, 1, 0, false, false, false, 64, 4},
    {"long rows", "sqrt", TT_CAUSAL_NONE, 1, 1, 0, false, false, false, 600, 1},
    {"log", "log", TT_CAUSAL_TOP_LEFT, 1, 1, 0, false, false, false, 64, 1},
    {"linear", "linear", TT_CAUSAL_NONE, 1, 1, 0, false, false, false, 64, 1},
    {"keys", "keys", TT_CAUSAL_NONE, 1, 1, 0, false, false, false, 64, 1},
    {"cosine", "cosine", TT_CAUSAL_TOP_LEFT, 1, 1, 0, false, false, false, 64, 1},
    {"rms", "rms", TT_CAUSAL_NONE, 1, 1, 0, false, false, true, 64, 1},
};

enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static tt_size draw_size(tt_rng *rng, tt_size most) {
    double u;
    tt_rng_uniform(rng, &u, 1);
    return 1 + (tt_size)(u * u * (double)most); /* small ones more often */
}

static tt_tensor draw(tt_rng *rng, const number_format *f, const kind *k, tt_size rows,
                      tt_size cols, double spread, double offset) {
    tt_tensor t = tt_tensor_new(1, rows, cols);
    tt_rng_normal(rng, t.data, rows * cols);
    for (tt_size i = 0; i < rows * cols; i++) {
        double x = (k->equal && offset != INFINITY ? t.data[i % cols] : t.data[i]) * spread;
        if (k->whole) x = rint(x);
        if (offset != INFINITY) x += offset;
        t.data[i] = k->uncast ? (double)(float)x : format_round(f, x);
    }
    return t;
}

/* ---- Judging --------------------------------------------------------------------------------- */

typedef struct score {
    tt_size right[3], fault[FAULTS][3]; /* by verdict */
    tt_size could_right, did_right, could_fault, did_fault;
    double largest; /* error / B */
} score;

static void add_told(score *to, const score *s) {
    to->could_right += s->could_right;
    to->did_right += s->did_right;
    to->could_fault += s->could_fault;
    to->did_fault += s->did_fault;
}

static void judge_one(score *s, double multiple, double ours, double bound,
                      const double given[ORDERS]) {
    double largest = 0;
    for (int o = 0; o < ORDERS; o++) {
        const double error = fabs(given[o] - ours);
        const tt_gradcheck_verdict v = judge_element(ours, given[o], multiple * bound, false, 0);
        s->right[v]++;
        largest = fmax(largest, error);
        if (bound > 0) s->largest = fmax(s->largest, error / bound);
    }
    const bool could = largest < fabs(ours) / 20;
    for (int o = 0; could && o < ORDERS; o++) {
        s->could_right++;
        s->did_right +=
            judge_element(ours, given[o], multiple * bound, false, 0) == TT_GRADCHECK_PASS;
    }
    for (int k = 0; k < FAULTS && ours != 0; k++) {
        const double wrong = FACTORS[k] * ours;
        const tt_gradcheck_verdict v = judge_element(ours, wrong, multiple * bound, false, 0);
        s->fault[k][v]++;
        if (!could || fabs(wrong - ours) < 100 * largest) continue;
        s->could_fault++;
        s->did_fault += v == TT_GRADCHECK_FAIL;
    }
}

/* Ours and the bounds of one head, added to the keys' shared ones. */
static void expect(const head *h, const precision *p, tt_tensor ours[TENSORS],
                   tt_tensor bound[TENSORS]) {
    tt_tape *tape = tt_tape_new();
    tt_var q = tt_param(tape, h->q, ours[HEAD_DQ]), k = tt_param(tape, h->k, ours[HEAD_DK]);
    tt_var v = tt_param(tape, h->v, ours[HEAD_DV]);
    tt_var out = tt_attention(tape, q, k, v,
                              (tt_attention_options){.rule = &h->rule->rule, .mask = h->mask});
    tt_backward_from(tape, out, h->g);
    const bound_head b = {.q = h->q,
                          .k = h->k,
                          .v = h->v,
                          .d_out = h->g,
                          .logits = tt_attention_logits(tape, out),
                          .weights = tt_attention_weights(tape, out),
                          .d_logits = tt_attention_logits_grad(tape, out),
                          .out = tt_value(tape, out),
                          .mask = &h->mask,
                          .rule = &h->rule->rule};
    if (tt_tape_error(tape) || !bounds_add(&b, p, bound[HEAD_DQ], bound[HEAD_DK], bound[HEAD_DV])) {
        (void)fprintf(stderr, "calibrate-formats: out of memory\n");
        exit(EXIT_FAILURE);
    }
    tt_tape_free(tape);
}

typedef struct cell {
    const number_format *format;
    const kind *kind;
    uint64_t seed;
    score total;
    pthread_mutex_t lock;
} cell;

static void judge_tensor(score *s, double multiple, tt_tensor ours, tt_tensor bound,
                         tt_tensor given[ORDERS]) {
    for (tt_size i = 0; i < tt_tensor_count(ours); i++) {
        double of[ORDERS];
        for (int o = 0; o < ORDERS; o++) of[o] = given[o].data[i];
        judge_one(s, multiple, ours.data[i], bound.data[i], of);
    }
}

static void free_all(tt_tensor *t, int count) {
    for (int i = 0; i < count; i++) tt_tensor_free(&t[i]);
}

/* One group of heads: its queries' gradients head by head, the keys' as sums of all. */
static void run_group(void *context, tt_size number) {
    cell *c = context;
    const kind *k = c->kind;
    score s = {.largest = 0};
    tt_rng rng;
    tt_rng_seed(&rng, c->seed + (uint64_t)number);
    head h = {.tq = draw_size(&rng, k->longest),
              .tk = draw_size(&rng, k->longest),
              .d = draw_size(&rng, 100),
              .dv = draw_size(&rng, 80),
              .mask = {.causal = k->causal},
              .rule = scaling_find(k->rule)};
    h.k = draw(&rng, c->format, k, h.tk, h.d, k->spread, 0);
    h.v = draw(&rng, c->format, k, h.tk, h.dv, 1, k->offset);
    const precision p = {c->format, k->uncast ? c->format->unit : 0};
    tt_tensor ours[TENSORS], bound[TENSORS], keys[2][ORDERS], out[ORDERS][TENSORS];
    const tt_size rows[] = {h.tq, h.tk, h.tk}, cols[] = {h.d, h.d, h.dv};
    for (int w = 0; w < TENSORS; w++) {
        ours[w] = tt_tensor_new(1, rows[w], cols[w]);
        bound[w] = tt_tensor_new(1, rows[w], cols[w]);
        for (int o = 0; o < ORDERS; o++) out[o][w] = tt_tensor_new(1, rows[w], cols[w]);
        for (int o = 0; o < ORDERS && w > 0; o++)
            keys[w - 1][o] = tt_tensor_new(1, rows[w], cols[w]);
    }
    for (int of = 0; of < k->heads; of++) {
        tt_tensor given[ORDERS];
        h.q = draw(&rng, c->format, k, h.tq, h.d, k->spread, INFINITY);
        h.g = draw(&rng, c->format, k, h.tq, h.dv, k->gain, INFINITY);
        memset(ours[0].data, 0, (size_t)tt_tensor_count(ours[0]) * sizeof(double));
        memset(bound[0].data, 0, (size_t)tt_tensor_count(bound[0]) * sizeof(double));
        expect(&h, &p, ours, bound);
        for (int o = 0; o < ORDERS; o++) {
            compute(&h, c->format, o, out[o]);
            given[o] = out[o][0];
            for (int w = 1; w < TENSORS; w++)
                for (tt_size i = 0; i < tt_tensor_count(out[o][w]); i++)
                    keys[w - 1][o].data[i] =
                        format_round(c->format, keys[w - 1][o].data[i] + out[o][w].data[i]);
        }
        judge_tensor(&s, format_multiple(c->format), ours[0], bound[0], given);
        tt_tensor_free(&h.q);
        tt_tensor_free(&h.g);
    }
    judge_tensor(&s, format_multiple(c->format), ours[1], bound[1], keys[0]);
    judge_tensor(&s, format_multiple(c->format), ours[2], bound[2], keys[1]);
    free_all(ours, TENSORS);
    free_all(bound, TENSORS);
    free_all(keys[0], ORDERS);
    free_all(keys[1], ORDERS);
    for (int o = 0; o < ORDERS; o++) free_all(out[o], TENSORS);
    tt_tensor_free(&h.k);
    tt_tensor_free(&h.v);
    (void)pthread_mutex_lock(&c->lock);
    score *t = &c->total;
    for (int v = 0; v < 3; v++) t->right[v] += s.right[v];
    for (int f = 0; f < FAULTS; f++)
        for (int v = 0; v < 3; v++) t->fault[f][v] += s.fault[f][v];
    add_told(t, &s);
    t->largest = fmax(t->largest, s.largest);
    (void)pthread_mutex_unlock(&c->lock);
}

/* ---- The table ------------------------------------------------------------------------------- */

static double percent(tt_size part, tt_size all) {
    return all > 0 ? 100 * (double)part / (double)all : (double)NAN;
}

static void print_told(const char *name, const score *s) {
    printf("%-9s: of what could be told, %.2f %% of right ones and %.2f %% of faults are\n", name,
           percent(s->did_right, s->could_right), percent(s->did_fault, s->could_fault));
}

static bool print_cell(const cell *c, double *elements, score *all_cells) {
    const score *s = &c->total;
    tt_size all = 0, passed_wrong = 0;
    for (int v = 0; v < 3; v++) all += s->right[v];
    for (int f = 0; f < MUST_NOT_PASS; f++) passed_wrong += s->fault[f][TT_GRADCHECK_PASS];
    printf("%-9s %-15s %11td %6td %6.1f %6.2f %6td %7.2f %7.2f\n", c->format->name, c->kind->name,
           all, s->right[TT_GRADCHECK_FAIL], percent(s->right[TT_GRADCHECK_PASS], all), s->largest,
           passed_wrong, percent(s->did_right, s->could_right),
           percent(s->did_fault, s->could_fault));
    *elements += (double)all;
    add_told(all_cells, s);
    return s->right[TT_GRADCHECK_FAIL] == 0 && passed_wrong == 0;
}

int main(int argc, char **argv) {
    const long heads = argc > 1 ? atol(argv[1]) : 150, seed = argc > 2 ? atol(argv[2]) : 1;
    double elements = 0;
    score of_all = {.largest = 0};
    bool good = true;
    if (heads < 1 || seed < 0) {
        (void)fputs("usage: calibrate-formats [HEADS [SEED]]\n", stderr);
        return 2;
    }
    printf("%ld heads of each format and kind, seed %ld, %d orders of operation\n", heads, seed,
           ORDERS);
    printf("%-9s %-15s %11s %6s %6s %6s %6s %7s %7s\n", "format", "kind", "right", "FAIL", "PASS %",
           "err/B", "wrong", "told %", "faults");
    printf("%-9s %-15s %11s %6s %6s %6s %6s %7s %7s\n", "", "", "elements", "", "", "most", "PASS",
           "right", "told %");
    for (int f = 0; format_at(f); f++) {
        score of_format = {.largest = 0};
        for (int k = 0; k < KIND_COUNT; k++) {
            cell c = {.format = format_at(f), .kind = &KINDS[k], .lock = PTHREAD_MUTEX_INITIALIZER};
            c.seed = (uint64_t)seed * 1000003 + (uint64_t)(f * KIND_COUNT + k) * 100000;
            parallel_for(2, KINDS[k].longest > 64 ? (heads + 9) / 10 : heads, run_group, &c);
            good = print_cell(&c, &elements, &of_format) && good;
            (void)fflush(stdout);
        }
        print_told(format_name(f), &of_format);
        add_told(&of_all, &of_format);
    }
    print_told("all", &of_all);
    printf("%.3g right elements: %s\n", elements, good ? "no false verdict" : "FALSE VERDICTS");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
