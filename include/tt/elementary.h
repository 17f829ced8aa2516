/* elementary.h: exp, log, sin, cos, log1p and expm1 whose results have the same bits everywhere. C
 * libraries differ in them, and a result that is cited may not depend on one.
 *
 * They are made of +, -, * and / of doubles alone, each rounded to nearest, in one fixed order; no
 * fused multiply-add, so a machine without one is as fast and gives the same. A thread that rounds
 * otherwise, or flushes subnormal numbers to zero, gets other results.
 *
 * The error is given in units of the last place (ulp) of the result; 0.5 would be the nearest
 * double always. NaN gives NaN; 0, 1 and infinities give what C's Annex F says.
 */
#ifndef TT_ELEMENTARY_H
#define TT_ELEMENTARY_H

#ifdef __cplusplus
extern "C" {
#endif

/* The double nearest to ln 2: log2(x) = tt_log(x) / TT_LN2, 2^x = tt_exp(x TT_LN2). */
#define TT_LN2 0.693147180559945309417

/* e^x, within 0.52 ulp, subnormal results too. */
double tt_exp(double x);

/* e^x - 1, within 0.65 ulp. */
double tt_expm1(double x);

/* The natural logarithm, within 0.51 ulp; -infinity for 0, NaN below. */
double tt_log(double x);

/* log(1 + x), within 0.51 ulp; -infinity for -1, NaN below. */
double tt_log1p(double x);

/* Sine and cosine of x in [0, 2 pi], within 0.51 ulp; NaN for every other x. */
double tt_sin(double x);
double tt_cos(double x);

#ifdef __cplusplus
}
#endif

#endif
