/* gradcheck.h: is this backward right? A verdict with an error bar for each derivative.
 *
 * Most gradient checks in use are wrong in one of four ways: they compare absolute values (a
 * flipped sign passes), take sum(out) as the loss (constant for softmax: any backward passes), call
 * a small wrong gradient right because of an absolute tolerance, or call a right one wrong because
 * of one fixed step. Here:
 *
 * Loss. f = <W, out> with W random (standard normal, seeded), or out itself where it is [1,1,1].
 *
 * Numeric derivative n along a coordinate (or a direction). Central differences
 *     D(h) = <W, out(x + h) - out(x - h)> / 2h     (differences first, element by element: what the
 *                                                   coordinate does not touch adds no rounding)
 * at steps that fit the input: a scan of 16 from far below to above its size, max |x| (and the
 * loss's, <|W|, |out|> / max |a|), then 18 around the best one, each half the last, extrapolated to
 * h = 0 (Richardson; Ridders 1982): each column of the tableau removes one more even power of h. Of
 * all entries that all finer steps agree with, within their rounding, that one is taken whose error
 * bar is least. The bar is the sum of
 *   truncation  the largest of the entry's differences to the two it was made from and to the next
 *               finer one, and
 *   rounding    noise / h, where noise is MEASURED: the scatter of h D(h) over the smallest steps,
 *               but at least half an ulp of every output element that moved, weighted by W.
 * Beside it stands what no difference can see: `unseen`, half an ulp of every output element that
 * did not move, weighted by W, over the largest step that counts.
 *
 * Rule, signed, for analytic a and numeric n, with k = 4 and rtol = 1e-6 by default:
 *   FAIL          |a - n| > k (bar + unseen) + rtol max(|a|, |n|), or a is not finite; where
 *                 nothing moved, |a| > 4096 k unseen
 *   PASS          k bar <= rtol max(|a|, |n|, floor)  and  |a - n| <= k bar + rtol max(|a|, |n|),
 *                 where something moved (n is resolved and equal); or
 *                 a = 0 and |n| + k (bar + unseen) < floor (n is zero and so is a)
 *   INCONCLUSIVE  otherwise: the truth may be a, but the differences cannot tell it from others
 * The floor is what counts as zero for this input: 1e-9 of its largest analytic gradient (where all
 * of these are 0, of <|W|, |out|> / max |x|), unless given. A wrong 0 where the truth is above the
 * floor moves the output, so it never passes.
 *   A kink, one-sided slopes that differ however small h is, is INCONCLUSIVE between the two, and
 * FAIL outside. An edge, a jump or kink beside steps far smaller than x, is never FAIL. Output
 * elements that are NaN or infinite are left out and counted; if all are, that is an error.
 *
 * Limits. `make calibrate` holds this against 1,074,655 derivatives whose truth is known: smooth
 * and kinked functions at scales from 1e-140 to 1e140, attention over 16 decades of inputs,
 * saturated rows; each right, times -1, 0, 1.01 and 1.0001, and with every gradient 0. No verdict
 * was false. Beyond it are functions whose own rounding makes stairs: (1 - cos x) / x^2 down to
 * 1e-6 has 2,065 false FAILs and 30 wrong zeros that PASS in 50,235, sin in float32 58 false FAILs.
 *
 * Taylor test along a random direction d: |f(x + h d) - f(x) - h <g, d>| falls like h^2 for a right
 * gradient and like h for a wrong one; the fitted slope is reported.
 */
#ifndef TT_GRADCHECK_H
#define TT_GRADCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "tt/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Builds what is checked from its inputs and returns the output. Called very often: the same inputs
 * must give the same output. */
typedef tt_var tt_gradcheck_build(tt_tape *tape, const tt_var *input, void *context);

typedef enum tt_gradcheck_verdict {
    TT_GRADCHECK_PASS,
    TT_GRADCHECK_FAIL,
    TT_GRADCHECK_INCONCLUSIVE
} tt_gradcheck_verdict;

/* One derivative. */
typedef struct tt_gradcheck_point {
    tt_size index; /* of the coordinate in the input; -1: a direction */
    double analytic, numeric;
    double error_bar; /* 0 where no step moved one bit of the output, infinite where none serves */
    double unseen;
    double step, widest; /* numeric was made from steps between these; 0: from none */
    bool kink;           /* numeric is half the way between */
    double low, high;    /* these slopes, and the bar is theirs */
    bool edge;
    tt_gradcheck_verdict verdict;
} tt_gradcheck_point;

typedef struct tt_gradcheck_options {
    double k;     /* 0: 4 */
    double rtol;  /* 0: 1e-6 */
    double floor; /* what counts as zero; 0: 1e-9 of the input's largest gradient */
    double step;  /* a fixed step instead of chosen ones; 0: chosen. Truncation is then a
                     third of the difference to twice the step. */
    tt_size most_coordinates; /* of an input; more are sampled by `seed`. 0: 256 */
    int directions;           /* random ones, checked like coordinates where an input is sampled;
                                 0: 4 */
    uint64_t seed;
    /* Called for each derivative in turn; NULL: not. */
    void (*each)(void *context, int input, const tt_gradcheck_point *point);
    void *each_context;
} tt_gradcheck_options;

typedef struct tt_gradcheck_result {
    tt_size checked, passed, failed, inconclusive;
    tt_size kinks;                        /* among the failed and inconclusive */
    tt_size evaluations;                  /* of the output, for all that was checked */
    tt_size not_finite, first_not_finite; /* output elements that are left out, and the first */
    double largest;                       /* of the input's analytic gradients, absolute */
    double floor;                         /* as used */
    tt_gradcheck_point worst;             /* the one with the largest distance in units of what
                                         would fail */
    double worst_pass;                    /* largest |a - n| / largest among those that passed */
    double taylor_slope; /* near 2: right; near 1: wrong; NaN: the remainder is rounding only, the
                            loss is linear along the direction */
} tt_gradcheck_result;

/* Checks the gradient with respect to each of inputs[0..count-1] (count <= TT_MAX_INPUTS), which
 * are changed during the call and restored. results[0..count-1] is filled. Returns NULL, or a line
 * that says what failed (an error of the tape), in a buffer of the calling thread's. */
const char *tt_gradcheck(tt_gradcheck_build *build, void *context, const tt_tensor *inputs,
                         int count, const tt_gradcheck_options *options,
                         tt_gradcheck_result *results);

/* The rule above; the point's verdict is not read. */
tt_gradcheck_verdict tt_gradcheck_judge(const tt_gradcheck_point *point, double floor, double k,
                                        double rtol);

#ifdef __cplusplus
}
#endif

#endif
