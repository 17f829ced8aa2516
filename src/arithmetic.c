/* arithmetic.c: one case each of what relaxed arithmetic changes. The operands are volatile, so
 * that the compiler leaves the case to the processor, and the expressions are not, so that it may
 * do to them what its options allow.
 */
#include "tt/arithmetic.h"

#include <float.h>
#include <stdbool.h>

#include "gemm.h"
#include "kernels.h"
#include "tt/elementary.h"

/* 1 widens float only, which no result depends on (s390x). */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "doubles must be rounded to double; on 32-bit x86: -msse2 -mfpmath=sse"
#endif
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||           \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "the arithmetic of the C standard is needed: no -ffast-math or parts of it"
#endif

static double loaded(double x) {
    volatile double at = x;
    return at;
}

static bool order_is_kept(void) {
    const double one = loaded(1), large = loaded(0x1p54);
    return (one + large) - large == 0;
}

static bool products_are_rounded(void) {
    const double a = loaded(1 + 0x1p-30), b = loaded(1 - 0x1p-30), c = loaded(1);
    return a * b - c == 0;
}

static bool quotients_are_rounded(void) {
    return loaded(49) / 49.0 == 1; /* 49 times the double nearest to 1/49 is not */
}

static bool subnormal_numbers_are_kept(void) {
    return loaded(DBL_MIN) / 2 * loaded(2) == DBL_MIN;
}

static bool fused_is_fused(void) {
    const double a = loaded(1 + 0x1p-30), b = loaded(1 - 0x1p-30);
    double c = loaded(-1);
    tt_gemm(TT_GEMM_NN, 1, 1, 1, &a, &b, &c, true);
    return c == -0x1p-60;
}

/* The same in the kernels, whose instructions the rest need not have: sum_j w_j (dw_j - 0), 0 being
 * the dw of the largest w, is 8 (-1 + fl(1 - 2^-60)). */
static bool products_of_vectors_are_rounded(void) {
    double w[24], dw[24], dz[24];
    for (int j = 0; j < 24; j++) {
        w[j] = loaded(j < 8 ? 1 : j < 16 ? 1 + 0x1p-30 : 2);
        dw[j] = loaded(j < 8 ? -1 : j < 16 ? 1 - 0x1p-30 : 0);
    }
    tt_kernels_here()->softmax_backward(w, dw, 24, dz);
    return dz[23] == 0;
}

const char *tt_arithmetic_error(void) {
    if (!order_is_kept()) return "sums are taken in another order than written";
    if (!products_are_rounded() || !products_of_vectors_are_rounded())
        return "products and sums are fused";
    if (!quotients_are_rounded()) return "divisions are not rounded to nearest";
    if (!subnormal_numbers_are_kept()) return "subnormal numbers are flushed to zero";
    if (!fused_is_fused()) return "a fused multiply-add is not exact";
    if (tt_exp(loaded(1)) != 0x1.5bf0a8b145769p+1) return "the exponential has other bits";
    return NULL;
}
