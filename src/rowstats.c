/* rowstats.c: two passes, since a share of the rest needs the rest first. */
#include "tt/rowstats.h"

#include <math.h>

#include "kernels.h"
#include "tt/elementary.h"

/* Logarithms are taken so many at once. */
enum { CHUNK = 64 };

tt_rowstats tt_rowstats_compute(const double *w, tt_size n) {
    tt_rowstats s = {0, 0, 0, 0, 0};
    tt_size m = 0;
    for (tt_size j = 1; j < n && !isnan(w[m]); j++) /* a NaN is found and kept */
        if (w[j] > w[m] || isnan(w[j])) m = j;
    if (n == 0 || w[m] == 0) return s;
    if (isnan(w[m])) return (tt_rowstats){NAN, NAN, NAN, NAN, m};

    const double log_largest = tt_log(w[m]);
    double logs[CHUNK];
    double rest = 0;       /* r */
    double rest_terms = 0; /* sum_{j != m} w_j ln(w_m / w_j); the quotient itself may overflow */
    double rest_square = 0;
    for (tt_size first = 0; first < n; first += CHUNK) {
        const tt_size end = first + CHUNK < n ? first + CHUNK : n;
        tt_kernels_here()->log(w + first, end - first, logs);
        for (tt_size j = first; j < end; j++) {
            if (j == m || w[j] == 0) continue;
            rest += w[j];
            rest_square += w[j] * w[j];
            rest_terms += w[j] * (log_largest - logs[j - first]);
        }
    }
    s.argmax = m;
    s.max_weight = w[m];
    s.participation = w[m] * w[m] + rest_square;
    s.entropy = tt_log1p(rest / w[m]) + rest_terms;
    if (rest == 0) return s;

    /* |J|_F = r sqrt(...), each w_j as a share of r: squares of 1e-200 would underflow. */
    double shares = 0, own = 0;
    for (tt_size j = 0; j < n; j++) {
        if (j == m) continue;
        double share = w[j] / rest;
        shares += share * share;
        own +=
            share * share * ((1 - w[j]) * (1 - w[j]) + w[m] * w[m] + (rest_square - w[j] * w[j]));
    }
    s.jacobian = rest * sqrt(w[m] * w[m] * (1 + shares) + own);
    return s;
}
