/* difference.c: a coarse scan over every step that could be right, then a fine window of steps
 * around the best of them, extrapolated as in C. J. F. Ridders, "Accurate computation of F'(x) and
 * F'(x) F''(x)", Adv. Eng. Software 4 (1982), with a bar for every entry of his tableau. Which
 * entry is taken follows O. V. Lepski, "On a problem of adaptive estimation in Gaussian white
 * noise", Theory Probab. Appl. 35 (1991): the one of least bar that all finer steps agree with.
 */
#include "difference.h"

#include <float.h>
#include <math.h>

#include "tt/elementary.h"

enum { SCAN = 16, WINDOW = 18, COLUMNS = 6, FINEST = 4 };

static const double AGREE = 4; /* bars; as the k of the verdict */

/* How far above the best plain difference the window begins: extrapolated ones go further. */
static const double ABOVE = 1024;

/* A function of x - x_0 with x_0 far from 0 changes within a small share of the size of x: what is
 * seen of steps larger than this share says little of those within it. */
static const double NEARBY = 65536;

/* Finite levels, coarse to fine. */
typedef struct levels {
    tt_level at[SCAN > WINDOW ? SCAN : WINDOW];
    int count;
} levels;

/* What all rules look at. */
typedef struct search {
    tt_probe *p;
    tt_line line;
    double x;           /* of the coordinate; 0 for a direction */
    double top, bottom; /* of the steps */
    levels scan, window;
    double noise; /* of h D(h), at any step */
    double reach; /* where zeros are trusted, */
    double blur;  /* and how far at least they are wrong beyond it */
} search;

/* An entry of the tableau: made from the window's levels row-column .. row. */
typedef struct entry {
    double value, bar;
    int row, column;
} entry;

/* ---- The scan -------------------------------------------------------------------------------- */

/* Steps reach from what the smallest features need to well beyond the input. */
static void find_range(search *s) {
    const tt_probe *p = s->p;
    const double size = p->size, hint = p->hint, x = fabs(s->x);
    if (size > 0) {
        s->top = fmax(4 * size, hint);
        s->bottom = ldexp(size, -36);
        if (hint > 0) s->bottom = fmin(s->bottom, ldexp(hint, -20));
        /* finer for an x that is small beside the others, but never down to a few ulps of it */
        if (x > 0) s->bottom = fmax(fmin(s->bottom, ldexp(x, -20)), ldexp(x, -44));
    } else if (hint > 0) {
        s->top = 16 * hint;
        s->bottom = ldexp(hint, -46);
    } else {
        s->top = 1e150;
        s->bottom = 1e-150;
    }
    s->top = fmin(s->top, 1e300);
    s->bottom = fmin(fmax(s->bottom, DBL_MIN), ldexp(s->top, -38));
}

static void take(search *s, levels *to, double h) {
    if (!s->p->error && tt_probe_level(s->p, s->line, h, &to->at[to->count])) to->count++;
}

/* Geometric steps; the last four differ by 2, so that their scatter is one of rounding alone. */
static void scan(search *s) {
    enum { GEOMETRIC = SCAN - FINEST + 1 };
    const double finest = s->bottom * 8;
    const double ratio = tt_exp((tt_log(s->top) - tt_log(finest)) / (GEOMETRIC - 1));
    double h = s->top;
    for (int i = 0; i < GEOMETRIC - 1; i++, h /= ratio) take(s, &s->scan, h);
    for (int i = 0; i < FINEST; i++) take(s, &s->scan, ldexp(finest, -i));
}

/* ---- Noise ----------------------------------------------------------------------------------- */

/* The scatter of h D(h) over the smallest steps, where truncation is gone. */
static double scatter(const levels *l) {
    double noise = 0;
    for (int i = l->count - 1; i > 0 && i > l->count - FINEST; i--)
        noise = fmax(noise, fabs(l->at[i].value - l->at[i - 1].value) * l->at[i].h);
    return noise;
}

/* The difference of the one-sided slopes. */
static double bend(const tt_level *l) {
    return l->side[0] - l->side[1];
}

static bool is_smooth(const tt_level *l) {
    return fabs(bend(l)) <= fabs(l->value) / 2;
}

/* Where small steps do not move what larger ones move smoothly, the function itself goes in stairs,
 * and the lowest stair seen is its noise. 0 where it does not. */
static double stair(const levels *l) {
    double lowest = INFINITY;
    bool still = false;
    for (int i = l->count - 1; i >= 0; i--) {
        still = still || !l->at[i].moves;
        if (still && l->at[i].moves && is_smooth(&l->at[i]))
            lowest = fmin(lowest, fabs(l->at[i].value) * l->at[i].h);
    }
    return isinf(lowest) ? 0 : lowest;
}

static double measured_noise(const search *s) {
    return fmax(fmax(scatter(&s->scan), stair(&s->scan)), tt_probe_rounding(s->p, true));
}

/* What rounding makes of one level's value: the noise, or half ulps of the outputs there and of x,
 * which the function may round too, by the slope. */
static double noise_of(const search *s, const tt_level *l) {
    const double slope = fmax(fabs(l->side[0]), fabs(l->side[1]));
    return fmax(s->noise, l->rounding + tt_probe_half_ulp(slope, s->x)) / l->h;
}

/* ---- The window ------------------------------------------------------------------------------ */

static double level_bar(const search *s, int i) {
    const levels *l = &s->scan;
    double truncation = i + 1 < l->count ? fabs(l->at[i].value - l->at[i + 1].value) : 0;
    return truncation + noise_of(s, &l->at[i]);
}

/* The step of the scan's best level: the least bar among those whose interval meets the intervals
 * of all finer ones, and of two nearly as good the larger step. 0 without any level. */
static double best_step(const search *s) {
    double step = 0, least = INFINITY;
    for (int i = 0; i < s->scan.count; i++) {
        const double bar = level_bar(s, i);
        bool meets = bar < least / 2;
        for (int j = i + 1; meets && j < s->scan.count; j++)
            meets =
                fabs(s->scan.at[i].value - s->scan.at[j].value) <= AGREE * (bar + level_bar(s, j));
        if (!meets) continue;
        least = bar;
        step = s->scan.at[i].h;
    }
    return step;
}

/* Steps halved each time. A level that is not finite breaks the tableau, so that what is coarser is
 * dropped with it. */
static void look_closely(search *s, double first) {
    for (int i = 0; i < WINDOW; i++) {
        const int before = s->window.count;
        take(s, &s->window, ldexp(first, -i));
        if (s->window.count == before) s->window.count = 0;
    }
}

/* ---- The plateau ----------------------------------------------------------------------------- */

static bool agrees(const search *s, const entry *e, const tt_level *finer) {
    const tt_level *own = &s->window.at[e->row];
    if (finer->h >= own->h) return true;
    const double distance = fabs(finer->value - e->value);
    return distance <= 2 * e->bar + AGREE * noise_of(s, finer) +
                           fabs(own->value - e->value) * fmin(1, finer->h / own->h);
}

/* Do all finer levels agree? An entry far from them is a plateau of something else. */
static bool is_plateau(const search *s, const entry *e) {
    for (int i = s->window.count - 1; i > e->row; i--)
        if (!agrees(s, e, &s->window.at[i])) return false;
    for (int i = 0; i < s->scan.count; i++)
        if (!agrees(s, e, &s->scan.at[i])) return false;
    return true;
}

/* How far from x a slope may already be another: not much beyond the smallest step at which one
 * sees a bend, nor beyond what is nearby. Where it bends, half an ulp of x is some slope too. */
static void look_around(search *s) {
    const double size = s->p->size;
    s->reach = size > 0 ? size / NEARBY : INFINITY;
    if (s->x != 0) s->reach = fmin(s->reach, fabs(s->x) / 16);
    for (int i = 0; i < s->scan.count; i++) {
        const tt_level *l = &s->scan.at[i];
        if (fabs(bend(l)) <= 8 * noise_of(s, l)) continue;
        s->reach = fmin(s->reach, 16 * l->h);
        s->blur = fmax(s->blur, tt_probe_half_ulp(bend(l) / l->h, s->x));
    }
    if (size == 0 && s->p->hint == 0) s->reach = 0;
}

static bool is_zero(const entry *e) {
    return fabs(e->value) <= 8 * e->bar;
}

/* A zero seen only by steps beyond the reach says no more of the slope at x than the noise at the
 * reach does, and the blur. */
static void distrust_far_zero(const search *s, entry *e) {
    if (s->reach > 0 && s->window.at[e->row].h > s->reach && is_zero(e))
        e->bar = fmax(e->bar, fmax(s->noise / s->reach, s->blur));
}

/* The tableau: each column removes one more even power of h. */
static void extrapolate(const levels *l, double t[WINDOW][COLUMNS]) {
    for (int r = 0; r < l->count; r++) {
        t[r][0] = l->at[r].value;
        for (int c = 1; c < COLUMNS && c <= r; c++)
            t[r][c] = t[r][c - 1] + (t[r][c - 1] - t[r - 1][c - 1]) / (ldexp(1, 2 * c) - 1);
    }
}

static entry find_plateau(const search *s) {
    double t[WINDOW][COLUMNS];
    const levels *l = &s->window;
    const double noise = scatter(l);
    entry best = {0, INFINITY, -1, 0};
    extrapolate(l, t);
    for (int r = 1; r + 1 < l->count; r++)
        for (int c = 1; c < COLUMNS && c <= r; c++) {
            const double value = t[r][c];
            const double truncation = fmax(
                fmax(fabs(value - t[r][c - 1]), fabs(value - t[r - 1][c - 1])), /* its parents */
                fabs(t[r + 1][c] - value)); /* and the next finer entry */
            entry e = {value, 0, r, c};
            e.bar = truncation + fmax(noise / l->at[r].h, noise_of(s, &l->at[r])) +
                    fmax(DBL_EPSILON * fabs(value), DBL_TRUE_MIN);
            distrust_far_zero(s, &e);
            if (e.bar < best.bar && is_plateau(s, &e)) best = e;
        }
    return best;
}

/* ---- What else is known ---------------------------------------------------------------------- */

/* What the elements that never moved may hide: half an ulp over the largest step that counts. */
static double unseen_by(const search *s, double step) {
    const double hidden = tt_probe_rounding(s->p, false);
    double largest = 0;
    for (int i = 0; i < s->scan.count; i++) largest = fmax(largest, s->scan.at[i].h);
    if (s->p->size > 0) largest = fmin(largest, fmax(step, s->p->size / 16));
    return hidden == 0 ? 0 : hidden / largest;
}

/* A difference of one-sided slopes that stays as h shrinks is no curvature, and one that matters is
 * larger than the bar. */
static bool is_kinked(const search *s, const entry *e, const tt_level *coarse,
                      const tt_level *fine) {
    const double c = bend(coarse), f = bend(fine), ratio = f / c;
    const double least = fmin(fabs(c) - 8 * noise_of(s, coarse), fabs(f) - 8 * noise_of(s, fine));
    return least > 0 && fmin(fabs(c), fabs(f)) > 4 * e->bar && ratio > 0.8 && ratio < 1.25;
}

/* Is it gone at a finer level? Then it is a bend nearby. */
static bool is_gone(const search *s, const levels *l, const tt_level *kinked) {
    for (int i = 0; i < l->count; i++)
        if (l->at[i].h < kinked->h &&
            fabs(bend(&l->at[i])) + 8 * noise_of(s, &l->at[i]) < fabs(bend(kinked)) / 2)
            return true;
    return false;
}

/* Of the slopes at level `fine`: how far they are from those at the three coarser ones. */
static double kink_bar(const search *s, int fine) {
    const tt_level *at = &s->window.at[fine];
    double spread = 0;
    for (int i = 1; i <= 3; i++)
        for (int k = 0; k < 2; k++) spread = fmax(spread, fabs(at[0].side[k] - at[-i].side[k]));
    return spread + 2 * noise_of(s, at);
}

/* A kink at x, of which the slopes of least bar stand for all; or one nearby that the bar is not
 * far below, which then hides on which side of it x is. */
static void find_kink(const search *s, const entry *e, tt_derivative *d) {
    const levels *l = &s->window;
    for (int i = 0; i + 3 < l->count; i++) {
        const tt_level *coarse = &l->at[i], *fine = &l->at[i + 3];
        const double bar = kink_bar(s, i + 3);
        if (!is_kinked(s, e, coarse, fine)) continue;
        if (is_gone(s, l, fine) || is_gone(s, &s->scan, fine)) {
            d->edge = d->edge || fabs(bend(fine)) < 64 * e->bar;
        } else if (!d->kink || bar < d->bar) {
            d->kink = true;
            d->low = fmin(fine->side[0], fine->side[1]);
            d->high = fmax(fine->side[0], fine->side[1]);
            d->bar = bar;
        }
    }
}

static bool differs(const entry *e, double slope) {
    return fabs(slope - e->value) > fabs(e->value) / 20 + 64 * e->bar;
}

/* Whether some level, with a step up to `most`, has another slope, on both sides or by them. */
static bool is_left(const levels *l, const entry *e, double most, bool both) {
    for (int i = 0; i < l->count; i++) {
        const tt_level *at = &l->at[i];
        if (at->h <= most &&
            (both ? differs(e, at->side[0]) && differs(e, at->side[1]) : differs(e, at->value)))
            return true;
    }
    return false;
}

/* Is the plateau a narrow one, at steps far smaller than x, with a jump beside it? So is the tread
 * of a stair, where the function rounds more coarsely inside. A kink leaves one of its sides as it
 * is. */
static bool is_edge(const search *s, const entry *e) {
    const levels *l = &s->window;
    const double h = l->at[e->row].h, x = fabs(s->x);
    if (h < ldexp(x, -26))
        return is_left(l, e, INFINITY, true) || is_left(&s->scan, e, INFINITY, true);
    const bool flat = fabs(l->at[e->row].value - e->value) <= AGREE * e->bar;
    return h < ldexp(x, -10) && flat && is_left(l, e, 16 * h, false) &&
           is_left(l, e, 256 * h, true);
}

static tt_derivative conclude(const search *s) {
    const entry e = find_plateau(s);
    tt_derivative d = {.value = e.value, .bar = e.bar, .moved = true};
    if (e.row < 0) return d;
    d.step = s->window.at[e.row].h;
    d.widest = s->window.at[e.row - e.column].h;
    d.unseen = unseen_by(s, d.step);
    d.edge = is_edge(s, &e);
    find_kink(s, &e, &d);
    if (!d.kink && s->reach == 0 && is_zero(&e)) d.bar = INFINITY;
    return d;
}

static bool has_moved(const tt_probe *p) {
    for (tt_size i = 0; i < p->out_count; i++)
        if (p->moved[i]) return true;
    return false;
}

tt_derivative tt_differentiate(tt_probe *p, tt_line line) {
    search s = {.p = p, .line = line};
    const tt_derivative unknown = {.bar = INFINITY};
    const double x = line.index >= 0 ? p->start.data[line.index] : 0;
    s.x = isfinite(x) ? x : 0;
    tt_probe_forget(p);
    find_range(&s);
    scan(&s);
    if (p->error || s.scan.count == 0) return unknown;
    if (!has_moved(p)) return (tt_derivative){.unseen = unseen_by(&s, 0)};
    s.noise = measured_noise(&s);
    look_around(&s);
    look_closely(&s, best_step(&s) * ABOVE);
    return p->error ? unknown : conclude(&s);
}

tt_derivative tt_differentiate_at(tt_probe *p, tt_line line, double step) {
    search s = {.p = p, .line = line};
    tt_probe_forget(p);
    take(&s, &s.scan, 2 * step);
    take(&s, &s.scan, step);
    if (s.scan.count < 2) return (tt_derivative){.bar = INFINITY};
    const tt_level *two = &s.scan.at[0], *one = &s.scan.at[1];
    const double hidden = tt_probe_rounding(p, false);
    if (!has_moved(p)) return (tt_derivative){.unseen = hidden / two->h};
    return (tt_derivative){.value = one->value,
                           .bar = fabs(two->value - one->value) / 3 + one->rounding / one->h,
                           .unseen = hidden / two->h,
                           .step = one->h,
                           .widest = two->h,
                           .moved = true};
}
