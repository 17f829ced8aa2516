/* rowstats.h: how sharp is one row of attention weights?
 *
 * The questions of this project are asked of rows like (1 - 1e-17, 1e-17, ...), where the textbook
 * sums return 0 or rounding noise. Every figure here keeps its relative accuracy however saturated
 * the row is: the part of the largest weight is expressed through r, the sum of the OTHER weights
 * (added up, never 1 - w_m), and nothing is squared before it is scaled.
 */
#ifndef TT_ROWSTATS_H
#define TT_ROWSTATS_H

#include "tt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_rowstats {
    double entropy;       /* -sum w ln w, in nats: ln n for a uniform row, 0 for a one-hot one */
    double max_weight;    /* w_m */
    double participation; /* sum w^2: 1/n for a uniform row, 1 for a one-hot one */
    double jacobian;      /* Frobenius norm of the softmax Jacobian diag(w) - w w^T */
    tt_size argmax;       /* m, the first position of the largest weight; 0 if n = 0 */
} tt_rowstats;

/* Figures of w[0..n-1], non-negative weights that sum to 1 (borrowed). A row of zeros (a query that
 * may attend to no key) or n = 0 gives zeros. NaN in w gives NaN.
 *
 *   entropy  = ln(1 + r/w_m) + sum_{j != m} w_j ln(w_m / w_j)
 *   |J|_F^2  = w_m^2 (r^2 + sum_{j != m} w_j^2) + sum_{j != m} w_j^2 ((1-w_j)^2 + S2 - w_j^2),
 *   S2       = sum w^2 */
tt_rowstats tt_rowstats_compute(const double *w, tt_size n);

#ifdef __cplusplus
}
#endif

#endif
