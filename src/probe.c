#include "probe.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double tt_probe_half_ulp(double w, double x) {
    if (w == 0) return 0;
    return fmax(fabs(w) * fabs(x) * (DBL_EPSILON / 2), DBL_TRUE_MIN);
}

bool tt_probe_new(tt_probe *p, tt_tensor out) {
    tt_size largest = 0;
    for (int i = 0; i < p->count; i++)
        if (tt_tensor_count(p->inputs[i]) > largest) largest = tt_tensor_count(p->inputs[i]);
    p->out_count = tt_tensor_count(out);
    const size_t bytes = (size_t)(p->out_count + 1) * sizeof(double);
    p->above = tt_tape_new();
    p->below = tt_tape_new();
    p->direction = tt_tensor_new(1, 1, largest);
    p->start = tt_tensor_new(1, 1, largest);
    p->w = malloc(bytes);
    p->base = malloc(bytes);
    p->moved = calloc((size_t)p->out_count + 1, 1);
    if (!p->above || !p->below || !p->direction.data || !p->start.data || !p->w || !p->base ||
        !p->moved)
        return false;
    for (tt_size i = 0; i < p->out_count; i++) p->base[i] = out.data[i];
    return true;
}

void tt_probe_free(tt_probe *p) {
    tt_tape_free(p->above);
    tt_tape_free(p->below);
    tt_tensor_free(&p->direction);
    tt_tensor_free(&p->start);
    free(p->w);
    free(p->base);
    free(p->moved);
}

void tt_probe_weigh(tt_probe *p) {
    for (tt_size i = 0; i < p->out_count; i++) {
        if (!isfinite(p->base[i])) {
            if (p->not_finite++ == 0) p->first_not_finite = i;
            p->w[i] = 0;
        } else {
            p->weight += fabs(p->w[i]) * fabs(p->base[i]);
        }
    }
}

void tt_probe_aim(tt_probe *p, int input, double largest) {
    const tt_tensor x = p->inputs[input];
    memcpy(p->start.data, x.data, (size_t)tt_tensor_count(x) * sizeof *x.data);
    p->size = 0;
    for (tt_size i = 0; i < tt_tensor_count(x); i++)
        if (isfinite(x.data[i])) p->size = fmax(p->size, fabs(x.data[i]));
    p->hint = p->weight / largest;
    if (!isfinite(p->hint)) p->hint = 0;
}

/* ---- Points ---------------------------------------------------------------------------------- */

static const double *evaluate(tt_probe *p, tt_tape *tape) {
    tt_var input[TT_MAX_INPUTS];
    tt_tape_reset(tape);
    for (int i = 0; i < p->count; i++) input[i] = tt_const(tape, p->inputs[i]);
    tt_tensor out = tt_value(tape, p->build(tape, input, p->context));
    if (tt_tape_error(tape)) p->error = tt_tape_error(tape);
    p->evaluations++;
    return out.data;
}

/* Moves the input by h along the line; returns by how much it moved where that is one number. */
static double move(tt_probe *p, tt_line line, double h) {
    tt_tensor x = p->inputs[line.input];
    if (line.index >= 0) {
        double from = p->start.data[line.index];
        x.data[line.index] = from + h;
        double moved = x.data[line.index] - from;
        return isfinite(moved) ? moved : h; /* a masked input may be anything */
    }
    for (tt_size i = 0; i < tt_tensor_count(x); i++)
        x.data[i] = p->start.data[i] + h * p->direction.data[i];
    return h;
}

static void restore(tt_probe *p, tt_line line) {
    tt_tensor x = p->inputs[line.input];
    if (line.index >= 0)
        x.data[line.index] = p->start.data[line.index];
    else
        memcpy(x.data, p->start.data, (size_t)tt_tensor_count(x) * sizeof *x.data);
}

const double *tt_probe_out(tt_probe *p, tt_line line, double h) {
    (void)move(p, line, h);
    const double *out = evaluate(p, p->above);
    restore(p, line);
    return p->error ? NULL : out;
}

/* Compares two outputs, `up` and `down` away, with the base and with each other. */
static bool read_level(tt_probe *p, const double *above, const double *below, double up,
                       double down, tt_level *level) {
    double sum = 0, first = 0, second = 0;
    for (tt_size i = 0; i < p->out_count; i++) {
        const double w = p->w[i], base = p->base[i];
        if (w == 0) continue;
        if (!isfinite(above[i]) || !isfinite(below[i])) return false;
        const bool moves = above[i] != base || below[i] != base;
        level->moves = level->moves || moves;
        if (moves) p->moved[i] = 1;
        if (!p->moved[i]) continue;
        sum += w * (above[i] - below[i]);
        first += w * (above[i] - base);
        second += w * (below[i] - base);
        level->rounding += (tt_probe_half_ulp(w, above[i]) + tt_probe_half_ulp(w, below[i])) / 2;
    }
    level->h = fabs(up - down) / 2;
    level->value = sum / (up - down);
    level->side[0] = first / up;
    level->side[1] = second / down;
    return isfinite(level->value) && isfinite(level->side[0]) && isfinite(level->side[1]);
}

/* The step away from 0 first: it is what rounding left of h, and the same step towards 0 is then
 * exact, so that both are equal even where they are a few ulps of x. */
bool tt_probe_level(tt_probe *p, tt_line line, double h, tt_level *level) {
    if (line.index >= 0) h = copysign(h, p->start.data[line.index]);
    const double up = move(p, line, h);
    const double *above = evaluate(p, p->above);
    const double down = move(p, line, -up);
    const double *below = evaluate(p, p->below);
    restore(p, line);
    *level = (tt_level){0};
    return !p->error && read_level(p, above, below, up, down, level);
}

void tt_probe_forget(tt_probe *p) {
    memset(p->moved, 0, (size_t)p->out_count);
}

double tt_probe_rounding(const tt_probe *p, bool moved) {
    double sum = 0;
    for (tt_size i = 0; i < p->out_count; i++)
        if (p->moved[i] == moved) sum += tt_probe_half_ulp(p->w[i], p->base[i]);
    return sum;
}
