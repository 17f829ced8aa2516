/* gradcheck.c: which derivatives are checked, and what is said of them; how one is found
 * numerically stands in difference.c.
 */
#include "tt/gradcheck.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "difference.h"
#include "probe.h"
#include "tt/elementary.h"
#include "tt/norm.h"
#include "tt/rng.h"

enum { TAYLOR_STEPS = 24, MESSAGE_BYTES = 256 };

typedef struct checker {
    tt_probe probe;
    tt_gradcheck_options options;
    char message[MESSAGE_BYTES]; /* an error of this module's */
} checker;

/* ---- Verdicts -------------------------------------------------------------------------------- */

tt_gradcheck_verdict tt_gradcheck_judge(const tt_gradcheck_point *p, double floor, double k,
                                        double rtol) {
    const double a = p->analytic, n = p->numeric, bar = k * p->error_bar;
    const double slack = rtol * fmax(fabs(a), fabs(n)), blind = k * p->unseen;
    const double distance = fabs(a - n);
    if (isinf(blind)) return TT_GRADCHECK_INCONCLUSIVE;
    if (!isfinite(a) || isnan(n)) return TT_GRADCHECK_FAIL;
    if (p->kink) {
        const bool between = a >= p->low - bar - slack && a <= p->high + bar + slack;
        return between ? TT_GRADCHECK_INCONCLUSIVE : TT_GRADCHECK_FAIL;
    }
    /* Where nothing moved, all may change within a step 4096 times less than that of `unseen`
     * (difference.c: NEARBY / 16). */
    if (distance > bar + (p->error_bar == 0 ? 4096 : 1) * blind + slack)
        return p->edge ? TT_GRADCHECK_INCONCLUSIVE : TT_GRADCHECK_FAIL;
    if (a == 0 && fabs(n) + bar + blind < floor) return TT_GRADCHECK_PASS;
    const bool resolved = bar > 0 && bar <= rtol * fmax(fmax(fabs(a), fabs(n)), floor);
    return resolved && distance <= bar + slack ? TT_GRADCHECK_PASS : TT_GRADCHECK_INCONCLUSIVE;
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
    r->kinks += p->kink;
    if (p->verdict == TT_GRADCHECK_PASS && r->largest > 0)
        r->worst_pass = fmax(r->worst_pass, fabs(p->analytic - p->numeric) / r->largest);
    if (r->checked == 1 || !(severity(c, p) <= severity(c, &r->worst))) r->worst = *p;
}

static void check_line(checker *c, tt_line line, double analytic, tt_gradcheck_result *r) {
    tt_probe *probe = &c->probe;
    const tt_derivative d = c->options.step > 0 ? tt_differentiate_at(probe, line, c->options.step)
                                                : tt_differentiate(probe, line);
    if (probe->error) return;
    tt_gradcheck_point p = {.index = line.index,
                            .analytic = analytic,
                            .numeric = d.value,
                            .error_bar = d.bar,
                            .unseen = d.unseen,
                            .step = d.step,
                            .widest = d.widest,
                            .kink = d.kink,
                            .low = d.low,
                            .high = d.high,
                            .edge = d.edge};
    /* What is left out may be all that it moves, and makes NaN of gradients through 0 NaN. */
    if (probe->not_finite > 0 && (!d.moved || !isfinite(analytic))) p.unseen = INFINITY;
    p.verdict = tt_gradcheck_judge(&p, r->floor, c->options.k, c->options.rtol);
    count_point(c, r, &p);
    if (c->options.each) c->options.each(c->options.each_context, line.input, &p);
}

/* ---- The Taylor test ------------------------------------------------------------------------- */

/* |f(x + h d) - f(x) - h along|, or 0 where that is lost in the rounding of the output. */
static double remainder_at(tt_probe *p, int input, double h, double along) {
    double change = 0, rounding = tt_probe_half_ulp(h, along);
    const double *there = tt_probe_out(p, (tt_line){input, -1}, h);
    for (tt_size e = 0; there && e < p->out_count; e++) {
        if (p->w[e] == 0) continue;
        change += p->w[e] * (there[e] - p->base[e]);
        rounding += tt_probe_half_ulp(p->w[e], there[e]) + tt_probe_half_ulp(p->w[e], p->base[e]);
    }
    double remainder = fabs(change - h * along);
    return remainder > 10 * rounding && isfinite(remainder) ? remainder : 0;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the slopes between neighbouring steps h and h/2, over the last run of steps on
 * which the remainder falls: before it h is not small yet, behind it there is only rounding. Steps
 * are shares of the power of two below the input's size. */
static double taylor_slope(tt_probe *p, int input, double along) {
    double slope[TAYLOR_STEPS], previous = 0;
    int n = 0, exponent = 1;
    if (p->size > 0) (void)frexp(p->size, &exponent);
    for (int i = 4; i < TAYLOR_STEPS && !p->error; i++) {
        double now = remainder_at(p, input, ldexp(1, exponent - 1 - i), along);
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
static double draw_direction(tt_probe *p, tt_rng *rng, tt_tensor grad) {
    double along = 0, *d = p->direction.data;
    const tt_size count = tt_tensor_count(grad);
    tt_rng_normal(rng, d, count);
    for (tt_size i = 0; i < count; i++)
        if (!isfinite(p->start.data[i])) d[i] = 0;
    const double length = tt_norm(d, count);
    for (tt_size i = 0; i < count && length > 0; i++) {
        d[i] /= length;
        along += d[i] * grad.data[i];
    }
    return along;
}

static double largest_of(tt_tensor t) {
    double largest = 0;
    for (tt_size i = 0; i < tt_tensor_count(t); i++)
        if (isfinite(t.data[i])) largest = fmax(largest, fabs(t.data[i]));
    return largest;
}

/* What counts as zero: a share of the input's largest gradient. Where all of these are 0, which may
 * be wrong, nothing but the loss and the input says what is small. */
static double floor_of(const checker *c, double largest) {
    const tt_probe *p = &c->probe;
    if (c->options.floor > 0) return c->options.floor;
    if (largest > 0) return 1e-9 * largest;
    double floor = 1e-9 * fmax(p->weight, DBL_MIN) / (p->size > 0 ? p->size : 1e150);
    return isfinite(floor) ? floor : 0;
}

/* Every coordinate, or a random subset (a walk over a shuffled order would need memory: each
 * coordinate is taken with the chance that leaves the wanted number) and random directions. */
static void check_input(checker *c, int input, tt_tensor grad, tt_rng *rng,
                        tt_gradcheck_result *r) {
    tt_probe *p = &c->probe;
    const tt_size count = tt_tensor_count(grad), most = c->options.most_coordinates;
    const tt_size before = p->evaluations;
    *r = (tt_gradcheck_result){.largest = largest_of(grad)};
    tt_probe_aim(p, input, r->largest);
    r->floor = floor_of(c, r->largest);
    tt_size wanted = count < most ? count : most;
    for (tt_size i = 0; i < count && wanted > 0 && !p->error; i++) {
        double u;
        tt_rng_uniform(rng, &u, 1);
        if (u * (double)(count - i) >= (double)wanted) continue;
        wanted--;
        check_line(c, (tt_line){input, i}, grad.data[i], r);
    }
    for (int d = 0; count > most && d < c->options.directions && !p->error; d++)
        check_line(c, (tt_line){input, -1}, draw_direction(p, rng, grad), r);
    r->evaluations = p->evaluations - before;
    r->taylor_slope = taylor_slope(p, input, draw_direction(p, rng, grad));
    r->not_finite = p->not_finite;
    r->first_not_finite = p->first_not_finite;
}

/* ---- All inputs ------------------------------------------------------------------------------ */

/* Memory, and W for the output. */
static const char *prepare(checker *c, tt_tensor out, tt_rng *rng) {
    tt_probe *p = &c->probe;
    if (!tt_probe_new(p, out)) return "gradcheck: out of memory";
    tt_rng_normal(rng, p->w, p->out_count);
    if (p->out_count == 1) p->w[0] = 1;
    tt_probe_weigh(p);
    if (p->not_finite == 0 || p->not_finite < p->out_count) return NULL;
    (void)snprintf(c->message, sizeof c->message, "gradcheck: output 0 is %s, and none is finite",
                   isnan(p->base[0]) ? "NaN" : "infinite");
    return c->message;
}

static void check_all(checker *c, tt_tape *tape, tt_rng *rng, tt_gradcheck_result *results) {
    tt_var input[TT_MAX_INPUTS];
    tt_probe *p = &c->probe;
    for (int i = 0; i < p->count; i++)
        input[i] = tt_param(tape, p->inputs[i], (tt_tensor){0, 0, 0, NULL});
    tt_var var = p->build(tape, input, p->context);
    tt_tensor out = tt_value(tape, var);
    p->error = tt_tape_error(tape);
    if (!p->error) p->error = prepare(c, out, rng);
    if (p->error) return;
    tt_backward_from(tape, var, tt_tensor_view(p->w, out.batch, out.rows, out.cols));
    p->error = tt_tape_error(tape);
    for (int i = 0; i < p->count && !p->error; i++)
        check_input(c, i, tt_grad(tape, input[i]), rng, &results[i]);
}

static void set_defaults(tt_gradcheck_options *o) {
    if (o->k <= 0) o->k = 4;
    if (o->rtol <= 0) o->rtol = 1e-6;
    if (o->most_coordinates <= 0) o->most_coordinates = 256;
    if (o->directions <= 0) o->directions = 4;
}

const char *tt_gradcheck(tt_gradcheck_build *build, void *context, const tt_tensor *inputs,
                         int count, const tt_gradcheck_options *options,
                         tt_gradcheck_result *results) {
    static _Thread_local char message[MESSAGE_BYTES];
    checker c = {.probe = {.build = build, .context = context, .inputs = inputs, .count = count},
                 .options = *options};
    tt_probe *p = &c.probe;
    tt_tape *tape = tt_tape_new();
    tt_rng rng;
    set_defaults(&c.options);
    tt_rng_seed(&rng, c.options.seed);
    if (count < 1 || count > TT_MAX_INPUTS)
        p->error = "gradcheck: between 1 and 8 inputs are possible";
    else if (!tape)
        p->error = "gradcheck: out of memory";
    else
        check_all(&c, tape, &rng, results);
    if (p->error) (void)snprintf(message, sizeof message, "%s", p->error);
    tt_tape_free(tape);
    tt_probe_free(p);
    return p->error ? message : NULL;
}
