/* gradcheck.c: C. J. F. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", Adv. Eng.
 * Software 4 (1982), with a bar for every entry of his tableau.
 */
#include "tt/gradcheck.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tt/elementary.h"
#include "tt/norm.h"
#include "tt/rng.h"

enum { LEVELS = 21, COLUMNS = 6, NOISE_LEVELS = 4, TAYLOR_STEPS = 24 };

static const double FIRST_STEP = 0.25;

typedef struct checker {
    tt_gradcheck_build *build;
    void *context;
    const tt_tensor *inputs;
    int count;
    tt_gradcheck_options options;
    tt_tape *above, *below; /* at x + h and x - h */
    double *w;              /* of the output's count */
    tt_size out_count;
    tt_tensor direction; /* like the input that is checked */
    tt_tensor start;     /* a copy of it */
    const char *error;
} checker;

/* Where one derivative is taken: along coordinate `index` of input `input`, or, index -1, along the
 * checker's direction. */
typedef struct line {
    int input;
    tt_size index;
} line;

/* ---- The function along a line --------------------------------------------------------------- */

static const double *evaluate(checker *c, tt_tape *tape) {
    tt_var input[TT_MAX_INPUTS];
    tt_tape_reset(tape);
    for (int i = 0; i < c->count; i++) input[i] = tt_const(tape, c->inputs[i]);
    tt_tensor out = tt_value(tape, c->build(tape, input, c->context));
    if (tt_tape_error(tape)) c->error = tt_tape_error(tape);
    return out.data;
}

/* Moves the input by h along the line; returns by how much it moved where that is one number. */
static double move(checker *c, line l, double h) {
    tt_tensor x = c->inputs[l.input];
    if (l.index >= 0) {
        double from = c->start.data[l.index];
        x.data[l.index] = from + h;
        double moved = x.data[l.index] - from;
        return isfinite(moved) ? moved : h; /* a masked input may be anything */
    }
    for (tt_size i = 0; i < tt_tensor_count(x); i++)
        x.data[i] = c->start.data[i] + h * c->direction.data[i];
    return h;
}

static void restore(checker *c, line l) {
    tt_tensor x = c->inputs[l.input];
    if (l.index >= 0)
        x.data[l.index] = c->start.data[l.index];
    else
        memcpy(x.data, c->start.data, (size_t)tt_tensor_count(x) * sizeof *x.data);
}

/* Half an ulp of x. */
static double half_ulp(double x) {
    return fabs(x) * (DBL_EPSILON / 2);
}

/* One central difference. `rounding` grows to the rounding of the output elements that moved at any
 * step, `all` to that of all elements. */
typedef struct difference {
    double h, value; /* value = <W, out(x+h) - out(x-h)> / 2h */
} difference;

static difference central(checker *c, line l, double h, double *rounding, double *all) {
    difference d = {h, 0};
    double up = move(c, l, h);
    const double *above = evaluate(c, c->above);
    double down = move(c, l, -h);
    const double *below = evaluate(c, c->below);
    restore(c, l);
    if (c->error) return d;
    double sum = 0, moved = 0, every = 0;
    for (tt_size i = 0; i < c->out_count; i++) {
        double ulp = fabs(c->w[i]) * (half_ulp(above[i]) + half_ulp(below[i]));
        every += ulp;
        if (above[i] == below[i]) continue;
        sum += c->w[i] * (above[i] - below[i]);
        moved += ulp;
    }
    d.h = (up - down) / 2;
    d.value = sum / (up - down);
    *rounding = fmax(*rounding, moved / 2);
    *all = fmax(*all, every / 2);
    return d;
}

/* ---- The numeric derivative ------------------------------------------------------------------ */

typedef struct estimate {
    double value, bar, unseen;
} estimate;

/* The scatter of h D(h) over the smallest steps, where truncation is gone. */
static double measured_noise(const difference *d) {
    double noise = 0;
    for (int i = LEVELS - NOISE_LEVELS; i < LEVELS; i++)
        noise = fmax(noise, fabs(d[i].value - d[i - 1].value) * d[i].h);
    return noise;
}

static estimate extrapolate(const difference *d, double noise) {
    double previous[COLUMNS], row[COLUMNS];
    estimate best = {0, INFINITY, 0};
    for (int i = 0; i < LEVELS; i++) {
        row[0] = d[i].value;
        for (int j = 1; j < COLUMNS && j <= i; j++) {
            row[j] = row[j - 1] + (row[j - 1] - previous[j - 1]) / (ldexp(1, 2 * j) - 1);
            double truncation = fmax(fabs(row[j] - row[j - 1]), fabs(row[j] - previous[j - 1]));
            double bar = truncation + noise / d[i].h;
            if (bar < best.bar) best = (estimate){row[j], bar, 0};
        }
        memcpy(previous, row, sizeof row);
    }
    return best;
}

static estimate at_fixed_step(checker *c, line l) {
    double rounding = 0, all = 0;
    difference one = central(c, l, c->options.step, &rounding, &all);
    difference two = central(c, l, 2 * c->options.step, &rounding, &all);
    if (rounding == 0) return (estimate){0, 0, all / two.h};
    double truncation = fabs(two.value - one.value) / 3;
    return (estimate){one.value, truncation + rounding / one.h, all / two.h};
}

static estimate differentiate(checker *c, line l) {
    difference d[LEVELS];
    double rounding = 0, all = 0;
    if (c->options.step > 0) return at_fixed_step(c, l);
    for (int i = 0; i < LEVELS && !c->error; i++)
        d[i] = central(c, l, ldexp(FIRST_STEP, -i), &rounding, &all);
    if (c->error) return (estimate){0, INFINITY, 0};
    if (rounding == 0) return (estimate){0, 0, all / d[0].h};
    estimate e = extrapolate(d, fmax(rounding, measured_noise(d)));
    e.unseen = all / d[0].h;
    return e;
}

/* ---- Verdicts -------------------------------------------------------------------------------- */

tt_gradcheck_verdict tt_gradcheck_judge(double analytic, double numeric, double error_bar,
                                        double unseen, double floor, double k, double rtol) {
    const double size = fmax(fabs(analytic), fabs(numeric));
    const double distance = fabs(analytic - numeric), bar = k * error_bar;
    /* a comparison with NaN is false: what is no number never passes */
    if (!(distance <= k * (error_bar + unseen) + rtol * size)) return TT_GRADCHECK_FAIL;
    if (error_bar == 0)
        return analytic == 0 && k * unseen <= floor ? TT_GRADCHECK_PASS : TT_GRADCHECK_INCONCLUSIVE;
    bool resolved = bar <= rtol * fmax(size, floor);
    return resolved && distance <= bar + rtol * size ? TT_GRADCHECK_PASS
                                                     : TT_GRADCHECK_INCONCLUSIVE;
}

static double severity(const checker *c, const tt_gradcheck_point *p) {
    double distance = fabs(p->analytic - p->numeric);
    double allowed =
        c->options.k * p->error_bar + c->options.rtol * fmax(fabs(p->analytic), fabs(p->numeric));
    return distance == 0 ? 0 : distance / allowed;
}

static void count_point(const checker *c, tt_gradcheck_result *r, const tt_gradcheck_point *p) {
    r->checked++;
    r->passed += p->verdict == TT_GRADCHECK_PASS;
    r->failed += p->verdict == TT_GRADCHECK_FAIL;
    r->inconclusive += p->verdict == TT_GRADCHECK_INCONCLUSIVE;
    if (p->verdict == TT_GRADCHECK_PASS && r->largest > 0)
        r->worst_pass = fmax(r->worst_pass, fabs(p->analytic - p->numeric) / r->largest);
    if (r->checked == 1 || !(severity(c, p) <= severity(c, &r->worst))) r->worst = *p;
}

static void check_line(checker *c, line l, double analytic, tt_gradcheck_result *r) {
    estimate e = differentiate(c, l);
    tt_gradcheck_point p = {l.index, analytic, e.value, e.bar, e.unseen, TT_GRADCHECK_FAIL};
    p.verdict = tt_gradcheck_judge(analytic, e.value, e.bar, e.unseen, r->floor, c->options.k,
                                   c->options.rtol);
    count_point(c, r, &p);
}

/* ---- The Taylor test ------------------------------------------------------------------------- */

/* |f(x + h d) - f(x) - h along|, or 0 where that is lost in the rounding of the output. */
static double remainder_at(checker *c, line l, const double *base, double h, double along) {
    double change = 0, rounding = half_ulp(h * along);
    (void)move(c, l, h);
    const double *there = evaluate(c, c->above);
    restore(c, l);
    for (tt_size e = 0; !c->error && e < c->out_count; e++) {
        change += c->w[e] * (there[e] - base[e]);
        rounding += fabs(c->w[e]) * (half_ulp(there[e]) + half_ulp(base[e]));
    }
    double remainder = fabs(change - h * along);
    return remainder > 10 * rounding ? remainder : 0;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the slopes between neighbouring steps h and h/2, over the last run of steps on
 * which the remainder falls: before it h is not small yet, behind it there is only rounding. */
static double taylor_slope(checker *c, int input, double along) {
    double slope[TAYLOR_STEPS], previous = 0;
    int n = 0;
    const double *base = evaluate(c, c->below);
    for (int i = 4; i < TAYLOR_STEPS && !c->error; i++) {
        double now = remainder_at(c, (line){input, -1}, base, ldexp(1, -i), along);
        bool falls = previous > 0 && now > 0 && now < 0.7 * previous;
        if (!falls && n >= 3) break;
        if (!falls) n = 0;
        if (falls) slope[n++] = tt_log(previous / now) / TT_LN2;
        previous = now;
    }
    if (n < 3) return NAN;
    qsort(slope, (size_t)n, sizeof *slope, compare);
    return slope[n / 2];
}

/* ---- One input ------------------------------------------------------------------------------- */

/* A random direction of length 1, so that a step along it is as large as one along a coordinate;
 * coordinates that hold no finite number (masked ones may) stay where they are. */
static double draw_direction(checker *c, tt_rng *rng, tt_tensor grad) {
    double along = 0;
    tt_size count = tt_tensor_count(grad);
    tt_rng_normal(rng, c->direction.data, count);
    for (tt_size i = 0; i < count; i++)
        if (!isfinite(c->start.data[i])) c->direction.data[i] = 0;
    const double length = tt_norm(c->direction.data, count);
    for (tt_size i = 0; i < count && length > 0; i++) {
        c->direction.data[i] /= length;
        along += c->direction.data[i] * grad.data[i];
    }
    return along;
}

static double largest_of(tt_tensor t) {
    double largest = 0;
    for (tt_size i = 0; i < tt_tensor_count(t); i++) largest = fmax(largest, fabs(t.data[i]));
    return largest;
}

/* Every coordinate, or a random subset (a walk over a shuffled order would need memory: each
 * coordinate is taken with the chance that leaves the wanted number) and random directions. */
static void check_input(checker *c, int input, tt_tensor grad, tt_rng *rng,
                        tt_gradcheck_result *r) {
    const tt_size count = tt_tensor_count(grad), most = c->options.most_coordinates;
    memcpy(c->start.data, c->inputs[input].data, (size_t)count * sizeof(double));
    tt_size wanted = count < most ? count : most;
    for (tt_size i = 0; i < count && wanted > 0 && !c->error; i++) {
        double u;
        tt_rng_uniform(rng, &u, 1);
        if (u * (double)(count - i) >= (double)wanted) continue;
        wanted--;
        check_line(c, (line){input, i}, grad.data[i], r);
    }
    for (int d = 0; count > most && d < c->options.directions && !c->error; d++)
        check_line(c, (line){input, -1}, draw_direction(c, rng, grad), r);
    r->taylor_slope = taylor_slope(c, input, draw_direction(c, rng, grad));
}

/* Memory for the largest input, and W for the output. */
static bool prepare(checker *c, tt_tensor out, tt_rng *rng) {
    tt_size largest = 0;
    for (int i = 0; i < c->count; i++)
        if (tt_tensor_count(c->inputs[i]) > largest) largest = tt_tensor_count(c->inputs[i]);
    c->out_count = tt_tensor_count(out);
    c->direction = tt_tensor_new(1, 1, largest);
    c->start = tt_tensor_new(1, 1, largest);
    c->w = malloc((size_t)(c->out_count + 1) * sizeof *c->w);
    if (!c->direction.data || !c->start.data || !c->w) return false;
    tt_rng_normal(rng, c->w, c->out_count);
    if (out.batch == 1 && out.rows == 1 && out.cols == 1) c->w[0] = 1;
    return true;
}

/* What counts as zero: a share of the input's largest gradient; where that is 0, of the largest of
 * all inputs; where all are 0, of 1. */
static double floor_of(const checker *c, double own, double all) {
    if (c->options.floor > 0) return c->options.floor;
    return 1e-9 * (own > 0 ? own : all > 0 ? all : 1);
}

static void check_all(checker *c, tt_tape *tape, tt_rng *rng, tt_gradcheck_result *results) {
    tt_var input[TT_MAX_INPUTS];
    for (int i = 0; i < c->count; i++)
        input[i] = tt_param(tape, c->inputs[i], (tt_tensor){0, 0, 0, NULL});
    tt_var var = c->build(tape, input, c->context);
    tt_tensor out = tt_value(tape, var);
    c->error = tt_tape_error(tape);
    if (!c->error && !prepare(c, out, rng)) c->error = "gradcheck: out of memory";
    if (c->error) return;
    tt_backward_from(tape, var, tt_tensor_view(c->w, out.batch, out.rows, out.cols));
    c->error = tt_tape_error(tape);
    double largest = 0;
    for (int i = 0; i < c->count && !c->error; i++) {
        results[i] = (tt_gradcheck_result){.largest = largest_of(tt_grad(tape, input[i]))};
        largest = fmax(largest, results[i].largest);
    }
    for (int i = 0; i < c->count && !c->error; i++) {
        results[i].floor = floor_of(c, results[i].largest, largest);
        check_input(c, i, tt_grad(tape, input[i]), rng, &results[i]);
    }
}

const char *tt_gradcheck(tt_gradcheck_build *build, void *context, const tt_tensor *inputs,
                         int count, const tt_gradcheck_options *options,
                         tt_gradcheck_result *results) {
    static _Thread_local char message[256];
    checker c = {build, context, inputs, count, *options, .above = tt_tape_new()};
    tt_tape *tape = tt_tape_new();
    tt_rng rng;
    c.below = tt_tape_new();
    if (c.options.k <= 0) c.options.k = 4;
    if (c.options.rtol <= 0) c.options.rtol = 1e-6;
    if (c.options.most_coordinates <= 0) c.options.most_coordinates = 256;
    if (c.options.directions <= 0) c.options.directions = 4;
    tt_rng_seed(&rng, c.options.seed);
    if (count < 1 || count > TT_MAX_INPUTS)
        c.error = "gradcheck: between 1 and 8 inputs are possible";
    else if (!tape || !c.above || !c.below)
        c.error = "gradcheck: out of memory";
    else
        check_all(&c, tape, &rng, results);
    if (c.error) (void)snprintf(message, sizeof message, "%s", c.error);
    tt_tape_free(tape);
    tt_tape_free(c.above);
    tt_tape_free(c.below);
    tt_tensor_free(&c.direction);
    tt_tensor_free(&c.start);
    free(c.w);
    return c.error ? message : NULL;
}
