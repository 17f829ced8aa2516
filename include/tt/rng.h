/* rng.h: the random numbers that torch.manual_seed(seed) draws on the CPU.
 *
 * A result can be checked by anyone who has PyTorch, or repeated there, if both start from the same
 * numbers. The generator is MT19937 (Matsumoto and Nishimura, ACM TOMACS 8(1), 1998); the rules
 * that turn its words into uniforms and normals are those of torch 1.13.
 *
 * Uniforms are torch's bit for bit. Normals are made by tt/elementary.h, so that they have the same
 * bits everywhere; torch's are made by its C library's functions, and one in 300 of them differs
 * from these by one or two units of its last place (glibc).
 */
#ifndef TT_RNG_H
#define TT_RNG_H

#include <stdbool.h>
#include <stdint.h>

#include "tt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller owns the struct; tt_rng_seed makes it ready. Copying it copies the stream. */
typedef struct tt_rng {
    uint32_t state[624];
    int used;           /* words of the present block already drawn */
    bool has_normal;    /* the short path makes normals in pairs; the second waits here */
    double next_normal; /* for the next short call, as it does in torch */
} tt_rng;

/* As torch.manual_seed(seed): the low 32 bits count. */
void tt_rng_seed(tt_rng *rng, uint64_t seed);

/* out[0..n-1] = torch.rand(n, dtype=float64): uniform in [0, 1), multiples of 2^-53. */
void tt_rng_uniform(tt_rng *rng, double *out, tt_size n);

/* out[0..n-1] = torch.randn(n, dtype=float64): standard normal by Box and Muller. Torch takes
 * another path for n < 16 than from 16 up; so does this. */
void tt_rng_normal(tt_rng *rng, double *out, tt_size n);

/* out[0..n-1] = torch.rand(n), float32: uniform in [0, 1), multiples of 2^-24. */
void tt_rng_uniform_f32(tt_rng *rng, float *out, tt_size n);

/* out[0..n-1] = torch.randn(n), float32, for n < 16 only (from 16 up torch's result depends on the
 * vector unit it runs on). False, and nothing drawn, for a larger n. */
bool tt_rng_normal_f32(tt_rng *rng, float *out, tt_size n);

#ifdef __cplusplus
}
#endif

#endif
