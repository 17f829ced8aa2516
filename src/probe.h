/* probe.h: a loss <W, out(inputs)> along a line through one of its inputs, two points at a time.
 *
 * Differences are taken first, element by element of the output: what a step does not touch adds no
 * rounding. An element has moved once any step has given it another value than the inputs as they
 * are; what never moved is no part of the noise.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>

#include "tt/tape.h"

/* As tt_gradcheck_build. */
typedef tt_var tt_probe_build(tt_tape *tape, const tt_var *input, void *context);

typedef struct tt_probe {
    tt_probe_build *build;
    void *context;
    const tt_tensor *inputs;
    int count;
    tt_tape *above, *below; /* at x + h and x - h */
    double *w, *base;       /* of out_count each; base is the output where nothing is moved. W is 0
                               where that is no finite number: */
    tt_size out_count, not_finite, first_not_finite;
    unsigned char *moved;       /* of out_count: has it since tt_probe_forget? */
    double weight;              /* sum |w| |base| */
    tt_tensor direction, start; /* like the input that is probed; start is a copy of it */
    double size, hint;          /* of that input, see tt_probe_aim */
    tt_size evaluations;        /* so far */
    const char *error;          /* the first, or NULL; belongs to a tape */
} tt_probe;

/* Where one derivative is taken: along coordinate `index` of input `input`, or, index -1, along the
 * probe's direction. */
typedef struct tt_line {
    int input;
    tt_size index;
} tt_line;

/* What a pair of points at x + h and x - h shows. */
typedef struct tt_level {
    double h, value; /* value = <W, out(x+h) - out(x-h)> / 2h */
    double side[2];  /* the one-sided slopes */
    double rounding; /* half ulps of the elements that have moved, weighted */
    bool moves;      /* whether any element did at this h */
} tt_level;

/* Half an ulp of an output x of weight w. It is at least the smallest number there is, so that one
 * that underflows is not taken for an exact value. */
double tt_probe_half_ulp(double w, double x);

/* Memory for the largest input and for an output, which is copied. The caller has set the inputs;
 * tt_probe_free frees all but these. False without memory. */
bool tt_probe_new(tt_probe *p, tt_tensor out);
void tt_probe_free(tt_probe *p);

/* Makes W ready: nothing is weighed that is not finite, and `weight` is known. */
void tt_probe_weigh(tt_probe *p);

/* Aims at an input whose largest analytic gradient is given: size is its largest |x|, hint the
 * change of x that would change the loss by all it is, weight / largest; 0 where that is none. */
void tt_probe_aim(tt_probe *p, int input, double largest);

/* The output at x + h, good until the next call; NULL on an error. The input is restored. */
const double *tt_probe_out(tt_probe *p, tt_line line, double h);

/* Both points at once. False on an error or where an element is not finite. */
bool tt_probe_level(tt_probe *p, tt_line line, double h, tt_level *level);

/* Lets no element have moved. */
void tt_probe_forget(tt_probe *p);

/* Half ulps at x, weighted, of the elements that have moved, or of those that have not. */
double tt_probe_rounding(const tt_probe *p, bool moved);

#endif
