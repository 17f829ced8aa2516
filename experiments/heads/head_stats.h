/* head_stats.h: how sharp is one head? The figures of its rows (tt/rowstats.h), taken together.
 *
 * Every mean and quantile is over the rows that see a key. A row that sees one key only has entropy
 * and Jacobian 0 whatever the logits are; it counts like any other, except where said.
 */
#ifndef HEADS_HEAD_STATS_H
#define HEADS_HEAD_STATS_H

#include <stdbool.h>

#include "tt/mask.h"
#include "tt/rowstats.h"

/* Below this Frobenius norm of its softmax Jacobian a row passes no gradient worth the name. */
#define JACOBIAN_TINY 1e-6

typedef enum head_stat {
    HEAD_LOGIT_SPREAD, /* mean of the standard deviation (dividing by n) of a row's visible logits;
                          a row's offset, which the softmax ignores, is not in it */
    HEAD_ENTROPY,      /* nats, mean */
    HEAD_ENTROPY_NORMALISED, /* entropy / ln n, n the row's visible keys, mean over the rows with at
                                least two; NaN where there is none */
    HEAD_MAX_WEIGHT,         /* mean */
    HEAD_PARTICIPATION,      /* sum of w^2, mean */
    HEAD_JACOBIAN_MEAN,
    HEAD_JACOBIAN_P10,
    HEAD_JACOBIAN_MEDIAN,
    HEAD_JACOBIAN_P90,
    HEAD_JACOBIAN_TINY,   /* share of rows below JACOBIAN_TINY */
    HEAD_D_K_EQUIVALENT,  /* logit spread^2: q.k of independent standard normal entries has standard
                             deviation sqrt(d_k), so without a scale random queries and keys of this
                             width would spread as far */
    HEAD_ENTROPY_UNIFORM, /* nats: what HEAD_ENTROPY would be if each row's weights were alike over
                             the keys it sees: ln n, mean */
    HEAD_LOGIT_LARGEST,   /* largest size of a visible logit, of all rows */
    HEAD_ONE_BFLOAT16,    /* share of rows whose largest weight is exactly 1 in bfloat16 */
    HEAD_STATS
} head_stat;

/* By head_stat, or NULL from their count up. */
const char *head_stat_name(int i);

typedef struct head_stats {
    tt_size rows; /* rows that see a key; if 0, all else is NaN */
    double value[HEAD_STATS];
} head_stats;

/* What is measured of one row, the query's visible keys. */
typedef struct measured_row {
    tt_size keys;      /* how many it sees; if 0, all else means nothing */
    tt_size beyond;    /* the first of them whose logit is not finite; -1: all are */
    double deviation;  /* standard deviation of the logits */
    double largest;    /* size of a logit */
    tt_rowstats stats; /* of the weights; its argmax counts visible keys only */
} measured_row;

/* Measures logits and weights [n], of which `visible` count: those where may is not 0. x[n] is
 * scratch. */
measured_row row_measure(const unsigned char *may, tt_size visible, const double *logits,
                         const double *weights, tt_size n, double *x);

/* The rows taken together, in their order. False without memory. */
bool head_stats_of_rows(const measured_row *rows, tt_size count, head_stats *out);

/* Both, of one head's logits and weights, [1,Tq,Tk] each. False without memory. */
bool head_stats_compute(const tt_mask *mask, tt_tensor logits, tt_tensor weights, head_stats *out);

#endif
