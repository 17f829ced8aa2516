/* fma_lanes.h: a b + c with one rounding, in vectors: the processor's instruction where there is
 * one, and elsewhere the same bits from additions and multiplications.
 *
 * Without the instruction: a b = high + low exactly (T. J. Dekker, Numer. Math. 18, 1971), three
 * numbers are added up to t + e with t the nearest double, and what is lost is not lost twice if
 * the small parts are first added with rounding to odd (S. Boldo and G. Melquiond, "Emulation of
 * FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Trans. Comput.
 * 57(4), 2008, algorithm Fma). That holds where nothing overflows and low is exact; who calls asks
 * fma_fits first, and otherwise uses the C library's fma, which is exact and slow.
 */
#ifndef TT_FMA_LANES_H
#define TT_FMA_LANES_H

#include "lanes.h"

#include <math.h>

#if TT_WIDTH == 8 || TT_WIDTH == 4
#include <immintrin.h>
enum { FMA_IS_NATIVE = 1 };

LANES_INLINE lanes fma_lanes(lanes a, lanes b, lanes c) {
#if TT_WIDTH == 8
    return (lanes)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#else
    return (lanes)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
}
#elif defined(__FP_FAST_FMA) && !defined(TT_EMULATE_FMA)
enum { FMA_IS_NATIVE = 1 };

LANES_INLINE lanes fma_lanes(lanes a, lanes b, lanes c) {
    for (int l = 0; l < TT_WIDTH; l++) c[l] = __builtin_fma(a[l], b[l], c[l]);
    return c;
}
#elif defined(__wasm_relaxed_simd__)
#include <wasm_simd128.h>
/* Where the browser's processor has it: whoever loads the module looks whether it rounds once. */
enum { FMA_IS_NATIVE = 1 };

LANES_INLINE lanes fma_lanes(lanes a, lanes b, lanes c) {
    return (lanes)wasm_f64x2_relaxed_madd((v128_t)a, (v128_t)b, (v128_t)c);
}
#else
enum { FMA_IS_NATIVE = 0 };

/* x = high + low, 26 bits each: exact for |x| < 2^996 (Dekker; the factor is Veltkamp's). */
typedef struct halves {
    lanes high, low;
} halves;

LANES_INLINE halves halves_of(lanes x) {
    const lanes shifted = x * 0x8000001p0, high = shifted - (shifted - x);
    return (halves){high, x - high};
}

/* hi + lo = a + b exactly (Knuth). */
LANES_INLINE halves exact_sum(lanes a, lanes b) {
    const lanes high = a + b, of_b = high - a;
    return (halves){high, (a - (high - of_b)) + (b - of_b)};
}

/* a + b, or where that is not exact the one of its two neighbours whose last bit is 1. */
LANES_INLINE lanes sum_to_odd(lanes a, lanes b) {
    const halves sum = exact_sum(a, b);
    const lane_bits bits = bits_of(sum.high), rest = bits_of(sum.low);
    const lane_bits inexact = (lane_bits)(sum.low != 0), even = (bits & UINT64_C(1)) - UINT64_C(1);
    /* towards the rest: up in size where the signs agree, else down */
    const lane_bits down = UINT64_C(0) - ((bits ^ rest) >> 63);
    return lanes_of(bits + (inexact & even & (down | UINT64_C(1))));
}

LANES_INLINE lanes fma_lanes(lanes a, lanes b, lanes c) {
    const halves x = halves_of(a), y = halves_of(b);
    const lanes product = a * b;
    const lanes lost =
        x.low * y.low - (((product - x.high * y.high) - x.low * y.high) - x.high * y.low);
    const halves small = exact_sum(c, lost), large = exact_sum(product, small.high);
    const lanes sum = large.high + sum_to_odd(small.low, large.low);
    /* a zero has the sign that the plain sum gives it: nothing was lost then */
    return lanes_select((lane_bits)(sum == 0), product + c, sum);
}
#endif

/* The sizes of some numbers: the least but 0 and the most; NaN makes `most` NaN. */
typedef struct fma_range {
    double least, most;
} fma_range;

static inline void fma_range_add(fma_range *range, double x) {
    const double size = fabs(x);
    if (!(size <= range->most) && !isnan(range->most)) range->most = size;
    if (size < range->least && size > 0) range->least = size;
}

/* Whether fma_lanes is exact for any chain of so many products of an a and a b that starts from a
 * c: no half, product or sum comes near 2^1024, and what a product loses is a multiple of 2^-1074.
 */
static inline bool fma_fits(fma_range a, fma_range b, fma_range c, tt_size count) {
    if (FMA_IS_NATIVE) return true;
    return a.most < 0x1p990 && b.most < 0x1p990 && c.most < 0x1p1020 &&
           a.most * b.most * (double)count < 0x1p1020 && a.least * b.least >= 0x1p-960;
}

#endif
