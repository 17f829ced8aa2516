/* factor.h: which factor a head's weights P were made with, found from Q, K and the weights alone.
 * With x the logits at factor 1,
 *   ln P_ij = t x_ij - c_i + e_ij
 * is a line with one slope t for the head and an intercept for each row; t is found by weighted
 * least squares. The variance of e comes from the formats: P is rounded, and so are the logits. A
 * weight that is 0 says nothing of t; keys that are hidden take no part.
 */
#ifndef INSPECT_FACTOR_H
#define INSPECT_FACTOR_H

#include "inspect/factor_logits.h"
#include "inspect/factor_mask.h"

typedef enum factor_verdict {
    FACTOR_FOUND,   /* one factor makes all that is given */
    FACTOR_NO_FIT,  /* none does */
    FACTOR_UNKNOWN, /* what is given does not tell */
    FACTOR_VERDICTS
} factor_verdict;

/* "found", "none fits", "cannot tell", or NULL. */
const char *factor_verdict_name(int i);

/* So many differences of visible weights in a row, over all rows, are needed: one more than t takes
 * would test nothing. */
enum { FACTOR_DIFFERENCES = 4 };

/* So many outputs are: those of a row have errors in common. */
enum { FACTOR_OUTPUTS = 16 };

/* From so many on, their size and not the formats' says how large errors are, and a format coarser
 * than the one given is believed to explain them. */
enum { FACTOR_ENOUGH = 30 };

typedef struct factor_fit {
    factor_verdict verdict;
    const scaling *rule;   /* the logits are `factor` times this rule's; NULL: times q.k */
    double factor, error;  /* t, and four standard errors; NaN where there is none */
    double misfit;         /* mean square of the residuals in units of their standard deviations */
    double worst;          /* the largest of them, and where: */
    tt_size query, column; /* the key, or with outputs the column of V */
    tt_size rows, differences;     /* that tell something */
    const number_format *computed; /* what logits were taken to be rounded to; NULL: no fit */
    factor_mask mask;
    tt_size against; /* weights that the options' mask does not explain */
} factor_fit;

/* Numbers that a model computed: the array that they are from, the format that they are in, and the
 * one in which the logits were. */
typedef struct factor_given {
    const array *file;
    const number_format *format, *computed;
} factor_given;

/* How far a given number of x's size may be from what was computed. */
double factor_given_error(const factor_given *g, double x);

/* Fits t to the weights p [rows,keys], all rows of a head, and judges it; leaves rule and mask
 * alone. offset[rows] gets c_i, NaN for a row that takes no part. False without memory. */
bool factor_fit_weights(const factor_logits *l, const factor_given *given, const double *p,
                        double *offset, factor_fit *out);

/* What each weight of the head says of its key, under the fit: state[rows,keys]. */
void factor_fit_states(const factor_logits *l, const factor_given *given, const double *p,
                       const double *offset, const factor_fit *fit, signed char *state);

/* What factor_fit_weights and factor_fit_output share: sums of a weighted fit. */
typedef struct factor_sums {
    double slope, square;  /* sum of J r / v, and of J^2 / v */
    double residuals;      /* sum of r^2 / v */
    double spread;         /* the variance of `slope` by the formats, if it is not `square` */
    double rows, columns;  /* sum of squares of a row's part of `slope`, and of a column's */
    tt_size groups, count; /* rows; residuals */
    double worst;
    tt_size query, column;
} factor_sums;

/* Adds a residual r at (query, column), which t moves by J, of variance v. */
void factor_sums_add(factor_sums *s, double j, double r, double v, tt_size query, tt_size column);

/* What a judgement rests on. */
typedef struct factor_need {
    double least;        /* a factor that matters */
    double misfit;       /* of right factors the misfit is below this */
    double bar;          /* a bar above this part of the factor tells nothing */
    tt_size d_k;         /* rounding each number of a query moves all its logits */
    tt_size differences; /* so many are needed */
} factor_need;

/* Verdict, error and misfit at the fit's factor; `freedom` is how many residuals are free. */
void factor_judge(const factor_sums *s, tt_size freedom, const factor_given *given,
                  const factor_need *need, factor_fit *fit);

#endif
