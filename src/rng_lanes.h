/* rng_lanes.h: logarithms of many numbers, and Box and Muller's normals, in vectors. */
#ifndef TT_RNG_LANES_H
#define TT_RNG_LANES_H

#include <float.h>
#include <math.h>

#include "elementary_lanes.h"
#include "tt/elementary.h"

/* In vectors where none is subnormal or 0, which is nearly always. */
static void log_of(const double *x, tt_size n, double *y) {
    lane_bits below = {0};
    tt_size j = 0;
    for (; j + TT_WIDTH <= n; j += TT_WIDTH) below |= (lane_bits)(lanes_load(x + j) < DBL_MIN);
    j = lanes_any(below) ? n : 0;
    for (; j + TT_WIDTH <= n; j += TT_WIDTH) lanes_store(y + j, log_lanes(lanes_load(x + j)));
    for (j = lanes_any(below) ? 0 : j; j < n; j++) y[j] = tt_log(x[j]);
}

/* Entry j of a block pairs with entry j + 8. 1 - u is at least 2^-53, a normal number. */
static void normals(double *x, tt_size blocks) {
    const lanes two_pi = lanes_all(6.283185307179586476925286766559);
    for (; blocks > 0; blocks--, x += 16)
        for (int j = 0; j < 8; j += TT_WIDTH) {
            lanes sine, cosine, radius = -2.0 * log_lanes(1.0 - lanes_load(x + j));
            for (int l = 0; l < TT_WIDTH; l++) radius[l] = sqrt(radius[l]);
            sin_cos_lanes(two_pi * lanes_load(x + j + 8), &sine, &cosine);
            lanes_store(x + j, radius * cosine);
            lanes_store(x + j + 8, radius * sine);
        }
}

#endif
