/* draw.h: random rows of attention, measured one by one: how sharp is the softmax, and
 * how much of the gradient that reaches the weights comes through it?
 *
 * Rows come as matrices of n queries that share n keys, as attention has them. Q, K ~ N(0,1), and
 * the gradient that reaches the weights is drawn directly, dP ~ N(0,1); then dZ = J^T dP, and dQ by
 * the scaling rule's own backward. With `sigma` the logits themselves are i.i.d. N(0, sigma^2).
 *
 * Random numbers. The matrices of one d_k (or sigma) and n are cut into blocks of max(1, 512 / n).
 * Block b has a stream of its own (tt/rng.h), seeded with the low 32 bits of h + b, where
 *     h = mix(mix(mix(seed) ^ x) ^ n),  x = d_k, or the 64 bits of the double sigma,
 * and mix is the step of SplitMix64 (Steele, Lea, Flood 2014). A matrix draws Q, then K (not with
 * sigma), then dP. All scaling rules are measured on the same numbers.
 */
#ifndef SATURATION_DRAW_H
#define SATURATION_DRAW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/progress.h"
#include "common/scaling.h"
#include "common/shard.h"

typedef enum saturation_metric {
    SAT_LOGIT_STD, /* population standard deviation within the row */
    SAT_ENTROPY,   /* nats */
    SAT_ENTROPY_OVER_LN_N,
    SAT_MAX_WEIGHT,
    SAT_ONE_MINUS_MAX, /* the other weights, added up */
    SAT_PARTICIPATION, /* sum w^2 */
    SAT_JACOBIAN,      /* |J|_F, J = diag(w) - w w^T */
    SAT_JACOBIAN_SQUARED,
    SAT_ROW_GRAD, /* |dZ| of the row */
    SAT_ROW_GRAD_SQUARED,
    SAT_DQ, /* |dQ| of the row; not with sigma */
    SAT_METRICS
} saturation_metric;

/* By saturation_metric, or NULL from their count up. */
const char *saturation_metric_name(int i);

typedef struct saturation_config {
    const int64_t *d_k; /* either these */
    int d_k_count;
    const double *sigma; /* or, where sigma_count > 0, these */
    int sigma_count;
    const int64_t *keys;
    int keys_count;
    const scaling *const *scale; /* not used with sigma */
    int scale_count;
    int64_t rows; /* at least so many; whole matrices are drawn */
    int64_t seed;
    int threads;
    shard shard; /* of the sets; 0 of 0: all */
} saturation_config;

typedef struct saturation_summary {
    double mean;
    double standard_error; /* of the mean, a matrix being one cluster; nan for a single matrix */
    double p10, median, p90;
} saturation_summary;

typedef struct saturation_cell {
    int64_t d_k;
    double sigma;
    int64_t keys;
    scaling scale; /* with sigma: that number */
    saturation_summary of[SAT_METRICS];
    /* One standard deviation over all logits of all rows, and its standard error (nan for a single
     * matrix): with Var z = E z^2 - (E z)^2 the scatter of the matrices' means of z^2 - 2 z E z,
     * over twice the deviation. */
    double pooled, pooled_error;
    double exact[SAT_METRICS]; /* of the means; nan where none is known (exact.h) */
    bool elsewhere;            /* dealt to another shard */
    bool finished;             /* measured */
} saturation_cell;

typedef struct saturation {
    saturation_config config;
    int levels;             /* how many d_k, or sigma */
    int rules;              /* 1 with sigma */
    saturation_cell *cells; /* nested as d_k (or sigma), keys, scale, each in the order given */
    tt_size count;
} saturation;

/* Lays out the cells and deals the sets, which are all rules at one d_k (or sigma) and n. False
 * without memory. Free with saturation_free. */
bool saturation_new(saturation *s, const saturation_config *config);
void saturation_free(saturation *s);

saturation_cell *saturation_at(const saturation *s, int level, int keys, int rule);

/* The number of metrics measured: all, or with sigma all but the last. */
int saturation_metrics(const saturation *s);

/* Matrices in a cell of so many keys. */
tt_size saturation_matrices(const saturation_config *config, int64_t keys);

/* Whom saturation_run tells of each set, 0 for the first cells[rules], and asks whether to stop. */
typedef struct saturation_watch {
    void *context;
    bool (*finished)(void *context, tt_size set); /* false, after one line, ends it */
    const atomic_int *stop;                       /* ends it where it is not 0 */
} saturation_watch;

/* Draws and measures what is of this shard and not finished. NULL, or what failed: no memory, or
 * logits that are not finite or too large to square; "" where the watch, which may be NULL, ended
 * it. */
const char *saturation_run(saturation *s, progress *p, const saturation_watch *watch);

/* Cells of this shard that are not finished. */
tt_size saturation_open(const saturation *s);

/* Work, of this shard's unfinished sets, in the unit of the progress line, and bytes for the
 * largest cell on so many threads. */
double saturation_work(const saturation *s);
double saturation_bytes(const saturation_config *config, int threads);

#endif
