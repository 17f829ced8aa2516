#include "inspect/factor.h"

#include <math.h>
#include <stdlib.h>

#include "tt/elementary.h"

/* A residual beyond this many standard deviations is no rounding. In calibration
 * (tests/calibrate/factors.c) those of right factors stayed below 8. */
#define WORST_MOST 10.0

/* Bars are so many standard errors. In calibration of 10,790 factors from weights none lay outside
 * its bar, and 1 of 5,147 from outputs. */
#define BAR 4.0

const char *factor_verdict_name(int i) {
    static const char *const NAMES[FACTOR_VERDICTS + 1] = {
        [FACTOR_FOUND] = "found", [FACTOR_NO_FIT] = "none fits", [FACTOR_UNKNOWN] = "cannot tell"};
    return NAMES[i];
}

double factor_given_error(const factor_given *g, double x) {
    const double unit = fmax(g->format->unit * fabs(x), g->format->underflow);
    return fmax(unit, array_half_digit(g->file, x));
}

/* ---- Sums and the verdict -------------------------------------------------------------------- */

void factor_sums_add(factor_sums *s, double j, double r, double v, tt_size query, tt_size column) {
    const double size = fabs(r) / sqrt(v);
    s->slope += j * r / v;
    s->square += j * j / v;
    s->residuals += r * r / v;
    s->count++;
    if (size > s->worst || s->count == 1) {
        s->worst = size;
        s->query = query;
        s->column = column;
    }
}

/* Errors that a row has in common, or a column, are not averaged out within it: the larger of three
 * estimates counts. What is still in common to a query (it was scaled first, and rounded) is a part
 * unit / sqrt(d_k) of t. */
static double standard_error(const factor_sums *s, tt_size freedom, double shared) {
    const double misfit = s->residuals / (double)(freedom > 0 ? freedom : 1);
    const double spread = s->spread > 0 ? s->spread : s->square, groups = (double)s->groups;
    const double formats = (freedom < FACTOR_ENOUGH ? fmax(1, misfit) : misfit) * spread;
    const double rows = groups > 1 ? s->rows * groups / (groups - 1) : 0;
    const double own = sqrt(fmax(formats, fmax(rows, s->columns))) / s->square;
    return sqrt(own * own + shared * shared / groups);
}

void factor_judge(const factor_sums *s, tt_size freedom, const factor_given *given,
                  const factor_need *need, factor_fit *fit) {
    const double sum = given->computed->bits < 53 ? 0x1p-24 : 0x1p-53;
    fit->worst = s->worst;
    fit->query = s->query;
    fit->column = s->column;
    fit->verdict = FACTOR_UNKNOWN;
    fit->misfit = freedom > 0 ? s->residuals / (double)freedom : 0;
    if (!(s->square > 0) || fit->differences < need->differences) return;
    const double shared = given->computed->unit * fabs(fit->factor) / sqrt((double)need->d_k);
    fit->error = BAR * standard_error(s, freedom, shared) + 2 * sum * fabs(fit->factor);
    if (fit->misfit > need->misfit || fit->worst > WORST_MOST)
        fit->verdict = FACTOR_NO_FIT;
    else if (fit->error <= need->bar * fmax(fabs(fit->factor), need->least))
        fit->verdict = FACTOR_FOUND;
}

/* ---- The line -------------------------------------------------------------------------------- */

/* A head at work. */
typedef struct line {
    const factor_logits *l;
    const factor_given *given;
    const double *p;
    double *y, *column; /* [rows,keys] ln P, NaN for a weight that takes no part; [keys] */
    double noise, t;
} line;

/* In calibration the misfit of right factors stayed below 1.7. */
#define MISFIT_MOST 2.5

/* A weight whose rounding is above this part of it has no logarithm to speak of. */
#define ROUGH 0.125

static void set_logarithms(line *f) {
    for (tt_size i = 0; i < f->l->rows * f->l->keys; i++) {
        const double p = f->p[i];
        const bool good = p > 0 && isfinite(p) && factor_given_error(f->given, p) <= ROUGH * p;
        f->y[i] = good ? tt_log(p) : NAN;
    }
}

/* Of ln P: its weight's rounding, its logit's, and that of the arithmetic here. */
static double variance(const line *f, tt_size at) {
    const double x = f->l->x[at], rounding = factor_given_error(f->given, f->p[at]) / f->p[at];
    const double logarithm = 0x1p-52 * f->y[at];
    return rounding * rounding + logarithm * logarithm +
           f->noise * f->t * f->t * (x * x + f->l->squares[at]);
}

/* A row from the place of its first weight that takes part: of differences a weighted mean loses
 * nothing to rounding. */
typedef struct row_means {
    tt_size count;
    double x0, y0, weight, x, rest; /* x - x0 and (y - y0) - t (x - x0), weighted means */
} row_means;

static double rest_of(const line *f, const row_means *m, tt_size at) {
    return (f->y[at] - m->y0) - f->t * (f->l->x[at] - m->x0);
}

static row_means means_of(const line *f, tt_size row) {
    row_means m = {0, 0, 0, 0, 0, 0};
    for (tt_size j = 0; j < f->l->keys; j++) {
        const tt_size at = row * f->l->keys + j;
        if (isnan(f->y[at])) continue;
        if (m.count++ == 0) {
            m.x0 = f->l->x[at];
            m.y0 = f->y[at];
        }
        const double w = 1 / variance(f, at);
        m.weight += w;
        m.x += w * (f->l->x[at] - m.x0);
        m.rest += w * rest_of(f, &m, at);
    }
    if (m.count > 0) {
        m.x /= m.weight;
        m.rest /= m.weight;
    }
    return m;
}

/* Of a row with two weights that tell: what its entries say at the present t. */
static void add_row(line *f, tt_size row, const row_means *m, factor_sums *s) {
    const double before = s->slope;
    for (tt_size j = 0; j < f->l->keys; j++) {
        const tt_size at = row * f->l->keys + j;
        if (isnan(f->y[at])) continue;
        const double x = f->l->x[at] - m->x0 - m->x, r = rest_of(f, m, at) - m->rest;
        const double part = s->slope;
        factor_sums_add(s, x, r, variance(f, at), factor_logits_query(f->l, row), j);
        f->column[j] += s->slope - part;
    }
    s->rows += (s->slope - before) * (s->slope - before);
    s->groups++;
}

static factor_sums sums_at(line *f, double *offset) {
    factor_sums s = {0};
    for (tt_size j = 0; j < f->l->keys; j++) f->column[j] = 0;
    for (tt_size i = 0; i < f->l->rows; i++) {
        const row_means m = means_of(f, i);
        offset[i] = m.count > 0 ? f->t * m.x0 - m.y0 - m.rest : NAN;
        if (m.count > 1) add_row(f, i, &m, &s);
    }
    for (tt_size j = 0; j < f->l->keys; j++) s.columns += f->column[j] * f->column[j];
    return s;
}

/* A step is exact but for the variances, which are those of the t before it: a few settle both. */
static void fit_line(line *f, double *offset, factor_fit *out) {
    enum { STEPS = 4 };
    factor_sums s = sums_at(f, offset);
    for (int i = 0; i < STEPS && s.square > 0; i++) {
        f->t += s.slope / s.square;
        s = sums_at(f, offset);
    }
    out->factor = s.square > 0 ? f->t : NAN;
    out->rows = s.groups;
    out->differences = s.count - s.groups;
    const factor_need need = {.least = 1 / (double)f->l->d_k,
                              .misfit = MISFIT_MOST,
                              .bar = 0.1,
                              .d_k = f->l->d_k,
                              .differences = FACTOR_DIFFERENCES};
    factor_judge(&s, s.count - s.groups - 1, f->given, &need, out);
}

bool factor_fit_weights(const factor_logits *l, const factor_given *given, const double *p,
                        double *offset, factor_fit *out) {
    line f = {.l = l, .given = given, .p = p};
    f.noise = factor_logit_noise(given->computed, l->d_k);
    f.y = calloc((size_t)(l->rows * l->keys), sizeof *f.y);
    f.column = malloc((size_t)l->keys * sizeof *f.column);
    const bool good = f.y && f.column;
    *out = (factor_fit){.verdict = FACTOR_UNKNOWN, .factor = NAN, .error = NAN};
    if (good) {
        set_logarithms(&f);
        fit_line(&f, offset, out);
    }
    free(f.y);
    free(f.column);
    return good;
}

/* ---- What a weight says of its key ----------------------------------------------------------- */

/* Below this a weight may be given as 0: some processors flush subnormal numbers of the formats
 * with float32's range. */
static double least_weight(const factor_given *g) {
    const number_format *f = g->format;
    const double least = f->bits == 11 ? 2 * f->underflow : ldexp(1, f->least);
    return fmax(least, 2 * array_half_digit(g->file, 0));
}

void factor_fit_states(const factor_logits *l, const factor_given *given, const double *p,
                       const double *offset, const factor_fit *fit, signed char *state) {
    const double least = tt_log(least_weight(given));
    const double noise = factor_logit_noise(given->computed, l->d_k);
    for (tt_size i = 0; i < l->rows * l->keys; i++) {
        const double z = fit->factor * l->x[i];
        const double slack = 6 * sqrt(noise * (z * z + fit->factor * fit->factor * l->squares[i]));
        /* a factor that is not known explains no 0 */
        const bool tiny = fit->verdict == FACTOR_FOUND && z - offset[i / l->keys] < least + slack;
        state[i] = (signed char)(p[i] > 0 ? KEY_VISIBLE : tiny ? KEY_UNSURE : KEY_HIDDEN);
    }
}
