/* rng.c: MT19937 and torch's ways from its words to numbers. */
#include "tt/rng.h"

#include <math.h>

#include "kernels.h"
#include "tt/elementary.h"

enum { N = 624, BLOCK = 16 };

static const double TWO_PI = 6.283185307179586476925286766559;

void tt_rng_seed(tt_rng *rng, uint64_t seed) {
    rng->state[0] = (uint32_t)(seed & 0xffffffffu);
    for (uint32_t i = 1; i < N; i++) {
        uint32_t previous = rng->state[i - 1];
        rng->state[i] = 1812433253u * (previous ^ (previous >> 30)) + i;
    }
    rng->used = N;
    rng->has_normal = false;
    rng->next_normal = 0;
}

static uint32_t draw_32(tt_rng *rng) {
    if (rng->used == N) {
        tt_kernels_here()->twist(rng->state);
        rng->used = 0;
    }
    uint32_t y = rng->state[rng->used++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

static uint64_t draw_64(tt_rng *rng) {
    uint64_t high = draw_32(rng);
    return high << 32 | draw_32(rng);
}

static double draw_uniform(tt_rng *rng) {
    return (double)(draw_64(rng) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

void tt_rng_uniform(tt_rng *rng, double *out, tt_size n) {
    while (n > 0) {
        tt_size ready = (N - rng->used) / 2; /* pairs of words */
        ready = (ready < n ? ready : n) / 8 * 8;
        if (ready > 0) {
            tt_kernels_here()->uniforms(rng->state + rng->used, ready, out);
            rng->used += 2 * (int)ready;
        } else {
            *out = draw_uniform(rng);
            ready = 1;
        }
        out += ready;
        n -= ready;
    }
}

void tt_rng_uniform_f32(tt_rng *rng, float *out, tt_size n) {
    for (tt_size i = 0; i < n; i++) out[i] = (float)(draw_32(rng) & 0xffffffu) * 0x1p-24f;
}

/* One normal of the short path: the cosine half of a pair now, its sine half kept for later. */
static double draw_normal(tt_rng *rng) {
    if (rng->has_normal) {
        rng->has_normal = false;
        return rng->next_normal;
    }
    double u1 = draw_uniform(rng);
    double u2 = draw_uniform(rng);
    double radius = sqrt(-2.0 * tt_log(1.0 - u2));
    double angle = TWO_PI * u1;
    rng->next_normal = radius * tt_sin(angle);
    rng->has_normal = true;
    return radius * tt_cos(angle);
}

void tt_rng_normal(tt_rng *rng, double *out, tt_size n) {
    if (n < BLOCK) {
        for (tt_size i = 0; i < n; i++) out[i] = draw_normal(rng);
        return;
    }
    tt_rng_uniform(rng, out, n);
    tt_kernels_here()->normals(out, n / BLOCK);
    if (n % BLOCK != 0) { /* torch draws the last sixteen anew, over finished ones too */
        tt_rng_uniform(rng, out + n - BLOCK, BLOCK);
        tt_kernels_here()->normals(out + n - BLOCK, 1);
    }
}

bool tt_rng_normal_f32(tt_rng *rng, float *out, tt_size n) {
    if (n >= BLOCK) return false;
    for (tt_size i = 0; i < n; i++) out[i] = (float)draw_normal(rng);
    return true;
}
