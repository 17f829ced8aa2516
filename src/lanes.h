/* lanes.h: TT_WIDTH doubles side by side, as one vector of the compiler, for the loops in which the
 * time goes. A file that includes it says how wide its vectors are; width 1 is a plain double, so
 * that one text gives the scalar function and the loop over many.
 *
 * Each lane computes what one double would, so the width changes no bit. Where lanes are added up,
 * they are always eight, whatever the width: entry j of a row goes to lane j mod 8, and the eight
 * sums fold in one order (lanes_total).
 */
#ifndef TT_LANES_H
#define TT_LANES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tt/tensor.h"

/* A compiler inlines what it thinks worth it; here a call would cost more than the work. */
#define LANES_INLINE static inline __attribute__((always_inline, unused))

/* Before a loop over vectors that must stay in registers. */
#ifdef __clang__
#define LANES_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LANES_UNROLL _Pragma("GCC unroll 8")
#endif

#if TT_WIDTH == 1
typedef double lanes;
typedef uint64_t lane_bits;
#define LANES_LOOK_UP(table, field, i) ((table)[i].field)
#else
typedef double lanes __attribute__((vector_size(8 * TT_WIDTH)));
typedef uint64_t lane_bits __attribute__((vector_size(8 * TT_WIDTH)));
/* The same anywhere in an array of doubles. */
typedef double lanes_in_memory __attribute__((vector_size(8 * TT_WIDTH), aligned(8), may_alias));
#if TT_WIDTH == 2
#ifdef __SSE2__ /* the plain i[1] is taken out by an instruction that waits for its last result */
typedef uint32_t lane_words __attribute__((vector_size(16)));
#define LANE_INDEX(i, l) ((lane_words)(i))[2 * (l)]
#else
#define LANE_INDEX(i, l) (i)[l]
#endif
#define LANES_LOOK_UP(table, field, i)                                                             \
    ((lanes){(table)[LANE_INDEX(i, 0)].field, (table)[LANE_INDEX(i, 1)].field})
#elif TT_WIDTH == 4
#define LANES_LOOK_UP(table, field, i)                                                             \
    ((lanes){(table)[(i)[0]].field, (table)[(i)[1]].field, (table)[(i)[2]].field,                  \
             (table)[(i)[3]].field})
#else
#define LANES_LOOK_UP(table, field, i)                                                             \
    ((lanes){(table)[(i)[0]].field, (table)[(i)[1]].field, (table)[(i)[2]].field,                  \
             (table)[(i)[3]].field, (table)[(i)[4]].field, (table)[(i)[5]].field,                  \
             (table)[(i)[6]].field, (table)[(i)[7]].field})
#endif
#endif

/* ---- Bits ------------------------------------------------------------------------------------ */

LANES_INLINE lane_bits bits_of(lanes x) {
#if TT_WIDTH == 1
    lane_bits bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#else
    return (lane_bits)x;
#endif
}

LANES_INLINE lanes lanes_of(lane_bits bits) {
#if TT_WIDTH == 1
    lanes x;
    memcpy(&x, &bits, sizeof x);
    return x;
#else
    return (lanes)bits;
#endif
}

#if TT_WIDTH > 1
/* ---- Memory ---------------------------------------------------------------------------------- */

LANES_INLINE lanes lanes_load(const double *from) {
    return *(const lanes_in_memory *)from;
}

LANES_INLINE void lanes_store(double *to, lanes x) {
    *(lanes_in_memory *)to = x;
}

/* x - 0, since -0 + 0 is 0. */
LANES_INLINE lanes lanes_all(double x) {
    return x - (lanes){0};
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* The lower halves of two vectors taken by turns, a0 b0 a1 b1 ..., and the upper ones. */
#ifdef __clang__
#define LANES_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define LANES_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (lane_bits){__VA_ARGS__})
#endif
#if TT_WIDTH == 2
#define LANES_LOWER(a, b) LANES_SHUFFLE(a, b, 0, 2)
#define LANES_UPPER(a, b) LANES_SHUFFLE(a, b, 1, 3)
#elif TT_WIDTH == 4
#define LANES_LOWER(a, b) LANES_SHUFFLE(a, b, 0, 4, 1, 5)
#define LANES_UPPER(a, b) LANES_SHUFFLE(a, b, 2, 6, 3, 7)
#else
#define LANES_LOWER(a, b) LANES_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define LANES_UPPER(a, b) LANES_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#endif

/* ---- Choosing -------------------------------------------------------------------------------- */

/* Bits of a comparison (all ones or zeros a lane) choose. */
LANES_INLINE lanes lanes_select(lane_bits choose, lanes yes, lanes no) {
    return lanes_of((choose & bits_of(yes)) | (~choose & bits_of(no)));
}

/* The larger; `than` where x is NaN. */
LANES_INLINE lanes lanes_larger(lanes x, lanes than) {
    return lanes_select((lane_bits)(x > than), x, than);
}

LANES_INLINE bool lanes_any(lane_bits mask) {
#if TT_WIDTH == 8 /* one lane after the other takes as long as the work that asks */
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif TT_WIDTH == 4
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
    return (mask[0] | mask[1]) != 0;
#endif
}

/* The largest lane, of which none is NaN. */
LANES_INLINE double lanes_largest(lanes x) {
    double of[TT_WIDTH];
    lanes_store(of, x);
    for (int half = TT_WIDTH / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) of[l] = of[l] > of[l + half] ? of[l] : of[l + half];
    return of[0];
}

/* ---- Sums ------------------------------------------------------------------------------------ */

enum { SUM_LANES = 8, SUM_VECTORS = SUM_LANES / TT_WIDTH };

LANES_INLINE void lanes_store_sums(double to[SUM_LANES], const lanes sum[SUM_VECTORS]) {
    for (int v = 0; v < SUM_VECTORS; v++) lanes_store(to + v * TT_WIDTH, sum[v]);
}

LANES_INLINE double lanes_total(const double s[SUM_LANES]) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}
#endif

#endif
