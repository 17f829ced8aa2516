/* precision.h: the gradient through the softmax as low precision computes it, a row at a time, and
 * one subtraction that repairs it.
 *
 * What is rounded to the format, and where; everything else is float32. An entry of a matrix
 * product is a chain of multiply-adds over ascending indices; the products of the other sums are
 * rounded, the sums folded from eight.
 *   inputs    V and dO are numbers of the format already (the caller's to see to), Z is not
 *   forward   P = softmax(Z), Z rounded to float32; dP = dO V^T; O = P V, rounded to the format;
 *             D = dO.O
 *   eager     P^, dP^: P and dP rounded to the format; dZ = P^ (dP^ - sum P^ dP^), as an autograd
 *             differentiates a softmax
 *   flash     dZ = P (dP - D), as fused kernels do, which keep O and not P
 *   shifted   x = dP - dP_m, m the first of the largest P; dZ = P (x - sum P x), P and dP those of
 *             eager or those of flash
 * and dZ is rounded to the format.
 *
 * The weights sum to 1, so the shift changes nothing but the arithmetic (src/softmax.h has it too).
 * In a saturated row sum P dP is next to dP_m, and dZ_m, as large as all the others together, is
 * their difference: less than one rounding of P_m, dP_m or O. Shifted, x_m is 0 and nothing
 * cancels.
 */
#ifndef HEADS_PRECISION_H
#define HEADS_PRECISION_H

#include <stdbool.h>

#include "common/format.h"
#include "tt/tensor.h"

enum {
    PRECISION_EAGER,
    PRECISION_FLASH,
    PRECISION_EAGER_SHIFTED,
    PRECISION_FLASH_SHIFTED,
    PRECISION_PIPELINES
};

/* "eager", "flash", "eager-shifted", "flash-shifted", or NULL: a word_list. */
const char *precision_pipeline_name(int i);

/* ---- One row --------------------------------------------------------------------------------- */

/* One row of a query that sees so many keys, at least one. */
typedef struct precision_row {
    tt_size keys;
    float *p, *dp; /* [keys] P and dP */
    float d;       /* D */
} precision_row;

/* Room for rows of up to so many keys. False without memory. Free with precision_row_free in any
 * case. */
bool precision_row_new(precision_row *row, tt_size keys);
void precision_row_free(precision_row *row);

/* P, dP and D of z [keys], v [keys, d_v] and d_out [d_v], of the keys that the row sees. */
void precision_row_forward(precision_row *row, const number_format *f, const double *z,
                           tt_size keys, const double *v, const double *d_out, tt_size d_v);

/* dZ [keys], of the pipeline; infinite or NaN where it overflows. */
void precision_row_backward(const precision_row *row, const number_format *f, int pipeline,
                            double *dz);

/* ---- How far off ----------------------------------------------------------------------------- */

typedef enum rounding_stat {
    ROUNDING_ZERO_ROWS,  /* share of the rows whose dZ is exactly 0 */
    ROUNDING_MEDIAN_ROW, /* |dZ_low - dZ| / |dZ| of a row, median over the rows; infinite for a row
                            that overflows or whose dZ alone is 0 */
    ROUNDING_P90_ROW,    /* its 90 % quantile */
    ROUNDING_WHOLE,      /* the same of all rows as one vector */
    ROUNDING_STATS
} rounding_stat;

/* By rounding_stat, or NULL from their count up. */
const char *rounding_stat_name(int i);

/* `off`, a norm of differences, as a share of |x| of x[0..n-1]: 0 for 0, infinite for what is not
 * finite or where |x| is 0. */
double precision_relative(double off, const double *x, tt_size n);

#endif
