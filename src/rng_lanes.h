/* rng_lanes.h: MT19937's words, uniforms made of them, Box and Muller's normals, and logarithms of
 * many numbers, in vectors.
 */
#ifndef TT_RNG_LANES_H
#define TT_RNG_LANES_H

#include <float.h>
#include <math.h>

#include "elementary_lanes.h"
#include "tt/elementary.h"

/* ---- Mersenne Twister (Matsumoto and Nishimura 1998) ----------------------------------------- */

enum { MT_WORDS = 624, MT_AHEAD = 397, WORDS = 2 * TT_WIDTH };

typedef uint32_t words __attribute__((vector_size(8 * TT_WIDTH), aligned(4), may_alias));

/* The new word from the old one here, the next one, and the one that lies 397 ahead. */
LANES_INLINE uint32_t twisted(uint32_t here, uint32_t next, uint32_t ahead) {
    const uint32_t y = (here & 0x80000000u) | (next & 0x7fffffffu);
    return ahead ^ (y >> 1) ^ (-(next & 1u) & 0x9908b0dfu);
}

/* The words from s up to end, with s[ahead] as what stands there now. */
LANES_INLINE void twist_range(uint32_t *s, const uint32_t *end, int ahead) {
    for (; end - s >= WORDS; s += WORDS) {
        const words here = *(const words *)s, next = *(const words *)(s + 1);
        const words y = (here & 0x80000000u) | (next & 0x7fffffffu);
        *(words *)s = *(const words *)(s + ahead) ^ (y >> 1) ^ (-(next & 1u) & 0x9908b0dfu);
    }
    for (; s < end; s++) *s = twisted(s[0], s[1], s[ahead]);
}

/* The next 624 words of the state. A vector is shorter than 227, the least distance to a word that
 * is new already. */
static void twist(uint32_t *s) {
    uint32_t *const middle = s + MT_WORDS - MT_AHEAD, *const last = s + MT_WORDS - 1;
    twist_range(s, middle, MT_AHEAD);
    twist_range(middle, last, MT_AHEAD - MT_WORDS);
    *last = twisted(*last, s[0], s[MT_AHEAD - 1]);
}

/* Two words, tempered side by side, as the lower 53 bits of a number times 2^-53: as whole numbers
 * of 21 and 32 bits, laid below 2^52, so that nothing rounds. */
static void uniforms(const uint32_t *state, tt_size n, double *x) {
    const lane_bits two_to_52 = bits_of(lanes_all(0x1p52));
    for (tt_size j = 0; j + TT_WIDTH <= n; j += TT_WIDTH) {
        lane_bits y;
        memcpy(&y, state + 2 * j, sizeof y);
        y ^= (y >> 11) & 0x001fffff001fffff;
        y ^= (y << 7) & 0x9d2c56809d2c5680;
        y ^= (y << 15) & 0xefc60000efc60000;
        y ^= (y >> 18) & 0x00003fff00003fff;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        y = y << 32 | y >> 32; /* the first word is the upper one */
#endif
        const lanes upper = lanes_of(two_to_52 | (y >> 32 & 0x1fffff)) - 0x1p52;
        const lanes lower = lanes_of(two_to_52 | (y & 0xffffffff)) - 0x1p52;
        lanes_store(x + j, upper * 0x1p-21 + lower * 0x1p-53);
    }
}

/* ---- Functions of many numbers --------------------------------------------------------------- */

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
