/* bounds.c: one query's row after the other; what a key's gradient adds up over queries is kept as
 * sums. Rules with norms are attention of normalised queries and keys, whose errors are those of a
 * norm, the same for a whole row, and of a rounding, each entry's own; the gradient of a normalised
 * row x^ = x/|x| then goes through dx = (dx^ - x^ <x^, dx^>) / |x|.
 */
#include "gradcheck/bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tt/elementary.h"
#include "tt/norm.h"

static double square(double x) {
    return x * x;
}

/* The root of a^2 + b^2, which may be far below the smallest number that has a square. */
static double root_of_squares(double a, double b) {
    const double most = fmax(a, b), least = fmin(a, b);
    return most == 0 ? 0 : most * sqrt(1 + square(least / most));
}

/* One entry of a gradient, the sum of weight * x: of squared errors, of signed ones, of sizes, of
 * squares, and the sum itself. */
typedef struct sums {
    double square, coherent, size, squares, value;
} sums;

static void sums_add(sums *s, double error, double weight, double x) {
    s->value += weight * x;
    s->square += square(error * x);
    s->coherent += error * x;
    s->size += fabs(weight * x);
    s->squares += square(weight * x);
}

/* The squared error of a sum of n terms, and its own rounding. `rounded` counts how often each
 * factor was rounded before. */
static double sums_bound(const sums *s, const number_format *f, tt_size n, double rounded) {
    return s->square + square(s->coherent) + square(format_sum_error(f, n) * s->size) +
           square(f->unit * s->value) + rounded * square(f->unit) * s->squares;
}

typedef struct work {
    const bound_head *h;
    const number_format *f;
    double rounded;          /* how far the inputs were rounded first, in u, squared */
    int normed;              /* 1 where q and k below are normalised, else 0 */
    double *norm_q, *norm_k; /* [Tq], [Tk]: squared relative errors of the rows' norms */
    tt_tensor q, k;
    tt_tensor g, dz;    /* dO and dZ times scale, a power of two: what squares of both can hold */
    double scale, tiny; /* and the format's underflow, likewise */
    double *numbers, *a, *e_dp, *e_ds, *dp, *e_p; /* [Tk]; numbers owns all */
    double *squared;                              /* [d_k] */
    sums *of_dq, *of_dk, *of_dv, *share; /* [d_k], [Tk,d_k], [Tk,d_v], [Tk] or NULL; one block */
} work;

static tt_size keys_of(const work *w) {
    return w->k.rows;
}

static double at(tt_tensor t, tt_size i, tt_size j) {
    return t.data[i * t.cols + j];
}

static bool sees(const work *w, tt_size i, tt_size j) {
    return tt_mask_allows(w->h->mask, 0, i, j, w->q.rows, w->k.rows);
}

/* The factor on q.k (of the normalised ones, where the rule divides by norms); where it divides by
 * the sum of the keys' norms, that sum's inverse. */
static double factor_of(const work *w, tt_size i, double *inverse) {
    tt_size visible = 0;
    double sum = 0;
    for (tt_size j = 0; j < keys_of(w); j++) {
        if (!sees(w, i, j)) continue;
        visible++;
        if (w->h->rule->norms == TT_NORMS_KEY_SUM)
            sum += tt_norm(w->h->k.data + j * w->k.cols, w->k.cols);
    }
    const tt_scale_row row = {w->q.cols, visible, keys_of(w)};
    const double factor = tt_scale_factor(w->h->rule, row);
    *inverse = sum > 0 ? 1 / sum : 0;
    return w->h->rule->norms == TT_NORMS_KEY_SUM ? factor * *inverse : factor;
}

/* The squared relative error of a row's norm: of the sum of squares, which may underflow, of its
 * root, and of what is made of it. */
static double norm_error(const work *w, const double *x) {
    const double d = (double)w->q.cols, norm = tt_norm(x, w->q.cols), eta = w->f->underflow;
    if (norm == 0) return 0;
    return square(format_sum_error(w->f, w->q.cols) / 2) + square(1.5 * w->f->unit) +
           square(eta / norm) + square((d + 1) * eta / norm / norm / 2);
}

/* The norms of all rows; of a query, where a row divides by the sum of the norms that it sees, that
 * sum's. */
static void set_norm_errors(work *w) {
    const tt_norms norms = w->h->rule->norms;
    double most = 0;
    for (tt_size j = 0; norms != TT_NORMS_NONE && j < keys_of(w); j++) {
        w->norm_k[j] = norm_error(w, w->h->k.data + j * w->k.cols);
        most = fmax(most, w->norm_k[j]);
    }
    for (tt_size i = 0; norms != TT_NORMS_NONE && i < w->q.rows; i++)
        w->norm_q[i] = norms == TT_NORMS_COSINE ? norm_error(w, w->h->q.data + i * w->q.cols)
                                                : most + square(format_sum_error(w->f, keys_of(w)));
}

/* What the norms do to a logit and to its gradient, relative, squared. */
static double pair_error(const work *w, tt_size i, tt_size j) {
    return w->norm_q[i] + (w->normed ? w->norm_k[j] : 0);
}

/* The squared error of one logit. */
static double logit_error(const work *w, tt_size i, tt_size j, double s) {
    double size = 0, squares = 0, score = 0;
    const tt_size d = w->q.cols;
    for (tt_size c = 0; c < d; c++) {
        const double product = at(w->q, i, c) * at(w->k, j, c);
        score += product;
        size += fabs(product);
        squares += square(product);
    }
    const double u = w->f->unit, z = s * score;
    /* q may be multiplied by s first: rounded once more; both are where they were normalised */
    const double scaling = s == 1 ? 0 : 1; /* nothing is multiplied then */
    const double rounded = (scaling + w->rounded + (w->normed ? 2 : 0)) * square(u) * squares;
    return square(s) * (square(format_sum_error(w->f, d) * size) + square(u * score) + rounded) +
           scaling * square(2 * u * z) + pair_error(w, i, j) * square(z) +
           square(w->f->underflow * (1 + fabs(s) * (double)d));
}

/* a of each visible key (bounds.h), 0 for the others. */
static void set_logit_errors(work *w, tt_size i, double s) {
    double most = -INFINITY, mean = 0;
    for (tt_size j = 0; j < keys_of(w); j++)
        if (sees(w, i, j)) most = fmax(most, at(w->h->logits, i, j));
    for (tt_size j = 0; j < keys_of(w); j++) {
        w->a[j] = 0;
        if (!sees(w, i, j)) continue;
        const double below = w->f->unit * (most - at(w->h->logits, i, j));
        w->a[j] = sqrt(logit_error(w, i, j, s) + square(below));
        mean += at(w->h->weights, i, j) * w->a[j];
    }
    for (tt_size j = 0; j < keys_of(w); j++)
        w->a[j] = at(w->h->weights, i, j) == 0 ? 0 : w->a[j] * tt_exp(fmin(600, w->a[j] + mean));
}

/* dP and its error; returns the squared error of D = sum P dP, and D. */
static double set_dp(work *w, tt_size i, double *d) {
    const tt_size dv = w->h->v.cols, keys = keys_of(w);
    const double u = w->f->unit, c_dv = format_sum_error(w->f, dv),
                 c_keys = format_sum_error(w->f, keys);
    double terms = 0, sizes = 0, outs = 0;
    *d = 0;
    for (tt_size j = 0; j < keys; j++) {
        double dp = 0, size = 0, squares = 0;
        const double p = at(w->h->weights, i, j);
        for (tt_size c = 0; c < dv && sees(w, i, j); c++) {
            const double product = at(w->g, i, c) * at(w->h->v, j, c);
            dp += product;
            size += fabs(product);
            squares += square(product);
        }
        w->dp[j] = dp;
        w->e_dp[j] =
            sqrt(square(c_dv * size) + square(u * dp) + 2 * w->rounded * square(u) * squares +
                 square(w->tiny * (double)(1 + dv)));
        terms += square(p * size);
        sizes += p * size;
        *d += p * dp;
    }
    for (tt_size c = 0; c < dv; c++) outs += square(at(w->g, i, c) * at(w->h->out, i, c));
    return square(u) * (terms + 2 * outs) + (square(c_keys) + square(c_dv)) * square(sizes) +
           square(u * *d) + square(w->tiny * (double)(keys + dv + 1));
}

/* What an error of the weights does to dV, and returns the row's sum of (P a)^2. */
static double add_to_dv(work *w, tt_size i, double rho) {
    double all = 0;
    for (tt_size j = 0; j < keys_of(w); j++) all += square(at(w->h->weights, i, j) * w->a[j]);
    for (tt_size j = 0; j < keys_of(w); j++) {
        if (!sees(w, i, j)) continue;
        const double p = at(w->h->weights, i, j), own = square(p * w->a[j]);
        const double e_p = p * sqrt(square((1 - p) * w->a[j]) + fmax(0, all - own));
        const double error = root_of_squares(e_p, root_of_squares(rho * p, w->f->underflow));
        w->e_p[j] = e_p;
        for (tt_size c = 0; c < w->h->v.cols; c++)
            sums_add(&w->of_dv[j * w->h->v.cols + c], error, p, at(w->g, i, c));
    }
    return all;
}

/* e_ds of each key, from all of the above. */
static void set_ds_errors(work *w, tt_size i, double s, double rho, double weights, double e_d2,
                          double d) {
    const double u = w->f->unit, eta = w->f->underflow;
    double by_dp = 0, by_p = 0, moved = 0;
    for (tt_size j = 0; j < keys_of(w); j++) {
        const double p = at(w->h->weights, i, j), rounded = square(rho * p) + square(eta);
        by_p += rounded * square(w->dp[j]);
        by_dp += square(p * w->e_dp[j]);
        moved += square(at(w->dz, i, j) * w->a[j]);
    }
    const double e_sum = sqrt(by_p + by_dp + e_d2 + square(rho * d));
    for (tt_size j = 0; j < keys_of(w); j++) {
        w->e_ds[j] = 0;
        if (!sees(w, i, j)) continue;
        const double p = at(w->h->weights, i, j), dz = at(w->dz, i, j), a = w->a[j];
        const double x = p > 0 ? dz / p : w->dp[j] - d;
        const double round_p = root_of_squares(rho * p, eta);
        const double own = square(dz * (1 - 2 * p) * a) +
                           square(dz) * fmax(0, weights - square(p * a)) +
                           square(p * sqrt(fmax(0, moved - square(dz * a))));
        const double first = sqrt(own + square(round_p * x) + square(p * w->e_dp[j]) +
                                  square(p * e_sum) + square(2 * u * dz) + square(w->tiny));
        const double e_dz = first + (round_p + w->e_p[j]) * (w->e_dp[j] + e_sum);
        w->e_ds[j] = sqrt(square(s * e_dz) + square(2 * u * s * dz) +
                          pair_error(w, i, j) * square(s * dz) + square(w->tiny));
    }
}

static void add_to_dk(work *w, tt_size i, double s) {
    for (tt_size j = 0; j < keys_of(w); j++) {
        if (!sees(w, i, j)) continue;
        for (tt_size c = 0; c < w->q.cols; c++)
            sums_add(&w->of_dk[j * w->q.cols + c], w->e_ds[j], s * at(w->dz, i, j), at(w->q, i, c));
    }
}

/* ---- Norms ----------------------------------------------------------------------------------- */

/* The squared bounds of dx, where those of the normalised row's gradient, whose values are in
 * `of`, stand in out. */
static void through_norm(const work *w, const double *x, double by_norm, const sums *of,
                         double *out) {
    const tt_size d = w->q.cols;
    const double norm = tt_norm(x, d), inverse = norm == 0 ? 0 : 1 / norm, u = w->f->unit;
    double t = 0, size = 0, errors = 0;
    if (!isfinite(norm)) return; /* a key that nobody sees */
    for (tt_size c = 0; c < d; c++) {
        t += x[c] * inverse * of[c].value;
        size += fabs(x[c] * inverse * of[c].value);
        errors += out[c];
    }
    for (tt_size c = 0; c < d; c++) {
        const double unit = x[c] * inverse, along = unit * t, across = of[c].value - along;
        const double own =
            out[c] + square(unit) * (errors + square(format_sum_error(w->f, d) * size));
        const double rounding = square(2 * u) + by_norm;
        out[c] = square(inverse) *
                     (own + rounding * (square(along) + square(of[c].value)) + square(u * across)) +
                 square(w->tiny);
    }
}

/* What flows to the keys through a row's sum of their norms, 1/inverse: R = sum dZ Z, of which key
 * j gets -R inverse along itself; added up over queries. */
static void add_share(work *w, tt_size i, double s, double inverse) {
    double size = 0, squares = 0, by_dz = 0, by_z = 0, r = 0;
    for (tt_size j = 0; j < keys_of(w); j++) {
        if (!sees(w, i, j)) continue;
        const double dz = at(w->dz, i, j), z = at(w->h->logits, i, j);
        const double e_dz = w->e_ds[j] / fabs(s);
        r += dz * z;
        size += fabs(dz * z);
        squares += square(e_dz * z) + square(dz * w->a[j]) + square(w->f->unit * dz * z);
        by_dz += e_dz * z;
        by_z += dz * w->a[j];
    }
    const double error = sqrt(squares + square(by_dz) + square(by_z) + square(2 * w->f->unit * r) +
                              square(format_sum_error(w->f, keys_of(w)) * size));
    for (tt_size j = 0; j < keys_of(w); j++)
        if (sees(w, i, j)) sums_add(&w->share[j], error, r, inverse);
}

static void through_key_sum(const work *w, tt_size j, double *out) {
    const double *k = w->h->k.data + j * w->k.cols, norm = tt_norm(k, w->k.cols);
    const sums *share = &w->share[j];
    const double error = sums_bound(share, w->f, w->q.rows, 0) +
                         (2 * w->norm_k[j] + square(3 * w->f->unit)) * square(share->value);
    for (tt_size c = 0; c < w->k.cols && norm > 0 && isfinite(norm); c++)
        out[c] += square(k[c] / norm) * error;
}

/* ---- One head -------------------------------------------------------------------------------- */

/* Of n terms, each of which may underflow. */
static void add_bound(const work *w, tt_size n, double *to, double squared) {
    *to += root_of_squares(sqrt(squared) / w->scale, w->f->underflow * (double)(n + 1));
}

static void add_dq(const work *w, tt_size i, double s, tt_tensor to) {
    sums *of = w->of_dq;
    memset(of, 0, (size_t)w->q.cols * sizeof *of);
    for (tt_size j = 0; j < keys_of(w); j++)
        for (tt_size c = 0; c < w->q.cols && sees(w, i, j); c++)
            sums_add(&of[c], w->e_ds[j], s * at(w->dz, i, j), at(w->k, j, c));
    for (tt_size c = 0; c < w->q.cols; c++)
        w->squared[c] = sums_bound(&of[c], w->f, keys_of(w), w->rounded + w->normed);
    if (w->normed) through_norm(w, w->h->q.data + i * w->q.cols, w->norm_q[i], of, w->squared);
    for (tt_size c = 0; c < w->q.cols; c++)
        add_bound(w, keys_of(w), &to.data[i * to.cols + c], w->squared[c]);
}

static void add_dk(const work *w, tt_size j, tt_tensor to) {
    const sums *of = &w->of_dk[j * w->k.cols];
    for (tt_size c = 0; c < w->k.cols; c++) /* q may be multiplied by s, and so rounded, first */
        w->squared[c] = sums_bound(&of[c], w->f, w->q.rows, fmax(1, w->rounded) + w->normed);
    if (w->normed) through_norm(w, w->h->k.data + j * w->k.cols, w->norm_k[j], of, w->squared);
    if (w->share) through_key_sum(w, j, w->squared);
    for (tt_size c = 0; c < w->k.cols; c++)
        add_bound(w, w->q.rows, &to.data[j * to.cols + c], w->squared[c]);
}

static void add_dv(const work *w, tt_size j, tt_tensor to) {
    for (tt_size c = 0; c < to.cols; c++)
        add_bound(w, w->q.rows, &to.data[j * to.cols + c],
                  sums_bound(&w->of_dv[j * to.cols + c], w->f, w->q.rows, w->rounded));
}

static void add_row(work *w, tt_size i, tt_tensor b_dq) {
    const double rho = 3 * w->f->unit + format_sum_error(w->f, keys_of(w));
    double d, inverse;
    const double s = factor_of(w, i, &inverse);
    set_logit_errors(w, i, s);
    const double e_d2 = set_dp(w, i, &d), weights = add_to_dv(w, i, rho);
    set_ds_errors(w, i, s, rho, weights, e_d2, d);
    if (w->share && s != 0) add_share(w, i, s, inverse);
    add_dq(w, i, s, b_dq);
    add_to_dk(w, i, s);
}

/* The rows over their norms, in memory of their own; a zero row stays. */
static tt_tensor normalised(tt_tensor x) {
    tt_tensor to = tt_tensor_new(1, x.rows, x.cols);
    for (tt_size i = 0; to.data && i < x.rows; i++) {
        const double norm = tt_norm(x.data + i * x.cols, x.cols);
        for (tt_size c = 0; c < x.cols; c++)
            to.data[i * x.cols + c] = norm == 0 ? 0 : at(x, i, c) / norm;
    }
    return to;
}

static double largest_of(tt_tensor t) {
    double most = 0;
    for (tt_size i = 0; i < tt_tensor_count(t); i++) /* keys that nobody sees may hold anything */
        if (isfinite(t.data[i])) most = fmax(most, fabs(t.data[i]));
    return most;
}

static tt_tensor scaled(tt_tensor x, double by) {
    tt_tensor to = tt_tensor_new(1, x.rows, x.cols);
    for (tt_size i = 0; to.data && i < tt_tensor_count(to); i++) to.data[i] = by * x.data[i];
    return to;
}

/* Gradients are linear in dO, and some are 1e-200 of others: dO is scaled so that the largest
 * square of an error's part is near 2^1000. */
static void set_scale(work *w) {
    int exponent[4];
    (void)frexp(largest_of(w->h->d_out), &exponent[0]);
    (void)frexp(1 + largest_of(w->h->v) * (double)w->h->v.cols, &exponent[1]);
    (void)frexp(1 + largest_of(w->q) + largest_of(w->k), &exponent[2]);
    (void)frexp((double)(1 + w->q.rows + keys_of(w)), &exponent[3]);
    const int all = exponent[0] + exponent[1] + exponent[2] + exponent[3];
    w->scale = ldexp(1, (int)fmax(-900, fmin(900, 460 - all)));
    w->tiny = w->f->underflow * w->scale;
    w->g = scaled(w->h->d_out, w->scale);
    w->dz = scaled(w->h->d_logits, w->scale);
}

static void work_free(work *w) {
    tt_tensor_free(&w->g);
    tt_tensor_free(&w->dz);
    if (w->normed) tt_tensor_free(&w->q);
    if (w->normed) tt_tensor_free(&w->k);
    free(w->numbers);
    free(w->of_dq);
}

static bool work_new(work *w, const bound_head *h, const precision *p) {
    const tt_size keys = h->k.rows, d = h->q.cols, dv = h->v.cols;
    const bool share = h->rule->norms == TT_NORMS_KEY_SUM;
    *w = (work){.h = h,
                .f = p->format,
                .rounded = square(p->input_unit / p->format->unit),
                .q = h->q,
                .k = h->k};
    w->normed = h->rule->norms == TT_NORMS_COSINE;
    if (w->normed) w->q = normalised(h->q);
    if (w->normed) w->k = normalised(h->k);
    w->numbers = calloc((size_t)(6 * keys + d + h->q.rows), sizeof *w->numbers);
    w->of_dq = calloc((size_t)(d + keys * (d + dv + 1)), sizeof *w->of_dq);
    if (!w->numbers || !w->of_dq || !w->q.data || !w->k.data) return false;
    set_scale(w);
    if (!w->g.data || !w->dz.data) return false;
    w->a = w->numbers;
    w->e_dp = w->a + keys;
    w->e_ds = w->e_dp + keys;
    w->dp = w->e_ds + keys;
    w->e_p = w->dp + keys;
    w->norm_k = w->e_p + keys;
    w->norm_q = w->norm_k + keys;
    w->squared = w->norm_q + h->q.rows;
    w->of_dk = w->of_dq + d;
    w->of_dv = w->of_dk + keys * d;
    w->share = share ? w->of_dv + keys * dv : NULL;
    set_norm_errors(w);
    return true;
}

bool bounds_add(const bound_head *h, const precision *p, tt_tensor b_dq, tt_tensor b_dk,
                tt_tensor b_dv) {
    work w;
    const bool good = work_new(&w, h, p);
    for (tt_size i = 0; good && i < h->q.rows; i++) add_row(&w, i, b_dq);
    for (tt_size j = 0; good && j < h->k.rows; j++) {
        add_dk(&w, j, b_dk);
        add_dv(&w, j, b_dv);
    }
    work_free(&w);
    return good;
}
