#include "training/rescaled.h"

#include <math.h>
#include <stdbool.h>

#include "tt/elementary.h"
#include "tt/softmax_error.h"

typedef struct rescaling {
    tt_tensor logits, values, target;
    double *scratch;
} rescaling;

/* The loss if the logits were multiplied by 2^octaves. */
static double loss_at(const rescaling *r, double octaves) {
    return tt_softmax_error(r->logits, tt_exp(octaves * TT_LN2), r->values, r->target, r->scratch);
}

/* The three best points so far, x the best. */
typedef struct brent {
    double x, fx, w, fw, v, fv;
    double step, before; /* the last step and the one before it */
} brent;

enum { LEAST = -8, OCTAVES = 19, STEPS = 40 };
static const double GOLDEN = 0.3819660112501051; /* (3 - sqrt(5)) / 2 */
static const double WITHIN = 1e-6;               /* octaves; a loss is flat at its least */

/* The step to the least of the parabola through the three points, where that lies well inside and
 * steps are shrinking; else into the larger part by the golden ratio. */
static double next_step(brent *b, double low, double high) {
    double p = 0, q = 0;
    if (fabs(b->before) > WITHIN) {
        const double r = (b->x - b->w) * (b->fx - b->fv), s = (b->x - b->v) * (b->fx - b->fw);
        p = (b->x - b->v) * s - (b->x - b->w) * r;
        q = 2 * (s - r);
        if (q > 0) p = -p;
        q = fabs(q);
    }
    const double earlier = b->before;
    b->before = b->step;
    if (fabs(p) < fabs(0.5 * q * earlier) && p > q * (low - b->x) && p < q * (high - b->x))
        return p / q;
    b->before = b->x < 0.5 * (low + high) ? high - b->x : low - b->x;
    return GOLDEN * b->before;
}

static void take(brent *b, double u, double fu) {
    if (fu <= b->fx) {
        b->v = b->w, b->fv = b->fw;
        b->w = b->x, b->fw = b->fx;
        b->x = u, b->fx = fu;
    } else if (fu <= b->fw || b->w == b->x) {
        b->v = b->w, b->fv = b->fw;
        b->w = u, b->fw = fu;
    } else if (fu <= b->fv || b->v == b->x || b->v == b->w) {
        b->v = u, b->fv = fu;
    }
}

/* The least between low and high, from the best point known. */
static double least_between(const rescaling *r, double low, double high, double x, double fx) {
    brent b = {x, fx, x, fx, x, fx, 0, 0};
    for (int i = 0; i < STEPS; i++) {
        const double middle = 0.5 * (low + high);
        if (fabs(b.x - middle) <= 2 * WITHIN - 0.5 * (high - low)) break;
        b.step = next_step(&b, low, high);
        if (fabs(b.step) < WITHIN) b.step = b.step < 0 ? -WITHIN : WITHIN;
        const double u = b.x + b.step, fu = loss_at(r, u);
        if (fu <= b.fx) {
            if (u < b.x) high = b.x;
            if (u >= b.x) low = b.x;
        } else {
            if (u < b.x) low = u;
            if (u >= b.x) high = u;
        }
        take(&b, u, fu);
    }
    return b.fx;
}

double rescaled_loss(tt_tape *tape, tt_tensor logits, tt_tensor values, tt_tensor target,
                     double uniform) {
    rescaling r = {logits, values, target, NULL};
    double loss[OCTAVES], best = uniform;
    tt_tape_reset(tape);
    r.scratch = tt_tape_tensor(tape, 1, 1, tt_softmax_error_scratch(r.logits, r.values)).data;
    if (!r.scratch) return NAN;
    for (int k = 0; k < OCTAVES; k++) loss[k] = loss_at(&r, LEAST + k);
    for (int k = 0; k < OCTAVES; k++) {
        const bool first = k == 0, last = k == OCTAVES - 1;
        if (!first && loss[k - 1] < loss[k]) continue;
        if (!last && loss[k + 1] < loss[k]) continue;
        if (first && loss[k] >= uniform) continue; /* further down it only tends to uniform */
        const double at = LEAST + k, low = at - (first ? 0.5 : 1), high = at + (last ? 0.5 : 1);
        best = fmin(best, least_between(&r, low, high, at, loss[k]));
    }
    return best;
}
