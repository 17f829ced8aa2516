/* elementary_lanes.h: the elementary functions where nothing special happens, for TT_WIDTH
 * arguments at once (lanes.h). elementary.c adds the scalar functions' special cases; what goes
 * over many numbers sees to it that there are none.
 *
 * A table takes the argument near 0, where a short Taylor series suffices, and the result is a sum
 * of two doubles, hi + lo, until its last rounding. All errors are small because of that sum: hi is
 * exact, or nearly, and lo is so much smaller that its own roundings are some thousandths of an ulp
 * of the result. Three devices make hi exact:
 *   - a constant cut short, so that its product with a short number has no more than 53 bits (W. J.
 *     Cody and W. Waite, Software Manual for the Elementary Functions, 1980);
 *   - hi = fl(a + b), lo = (a - hi) + b, exact if |a| >= |b| or a = 0 (T. J. Dekker, Numer. Math.
 *     18, 1971), and the form for any a and b (D. E. Knuth, TAOCP 2, 4.2.2);
 *   - a table of reciprocals of few bits for the logarithm (P. T. P. Tang, ACM TOMS 16, 1990).
 * All series are Taylor's, so that a coefficient needs no proof; each is cut where the first term
 * left out is below 2^-60 of the result. In the comments u is 2^-53: one rounding errs by u times
 * the result, half an ulp at most.
 *
 * An integer is read from the lowest bits of itself plus ROUND.
 */
#ifndef TT_ELEMENTARY_LANES_H
#define TT_ELEMENTARY_LANES_H

#include "lanes.h"

typedef struct tt_log_row {
    double c, hi, lo;
} tt_log_row;

typedef struct tt_split {
    double hi, lo;
} tt_split;

/* In elementary.c, with what each row is. */
extern const tt_log_row tt_logs[128];
extern const tt_split tt_powers[64];
extern const tt_split tt_sines[33];

typedef struct pair {
    lanes hi, lo;
} pair;

/* Adding and subtracting it rounds to the nearest integer, for |x| < 2^51. */
#define ROUND 0x1.8p52

#define BITS_OF_ONE UINT64_C(0x3ff0000000000000)
#define MANTISSA_BITS UINT64_C(0x000fffffffffffff)

/* a + b exactly, for |a| >= |b| or a = 0 (Dekker), and for any two (Knuth). */
LANES_INLINE pair sum_ordered(lanes a, lanes b) {
    const lanes hi = a + b;
    return (pair){hi, (a - hi) + b};
}

LANES_INLINE pair sum_any(lanes a, lanes b) {
    const lanes hi = a + b, of_b = hi - a;
    return (pair){hi, (a - (hi - of_b)) + (b - of_b)};
}

/* ---- Logarithm ------------------------------------------------------------------------------- */

/* ln 2 = LN2_HI + LN2_LO to 2^-75; LN2_HI is a multiple of 2^-42. */
#define LN2_HI 0x1.62e42fefa38p-1
#define LN2_LO 0x1.ef35794p-45

/* ln(1 + r) - r for |r| <= 2^-7. The term left out is r^10/10, 2^-66 of r; the error is below 2.5 u
 * r^2/2, which next to r is 2.5 u 2^-8: 0.01 ulp. */
LANES_INLINE lanes log_series(lanes r) {
    const lanes r2 = r * r;
    return r2 * ((-1.0 / 2 + r * (1.0 / 3)) +
                 r2 * ((-1.0 / 4 + r * (1.0 / 5)) +
                       r2 * ((-1.0 / 6 + r * (1.0 / 7)) + r2 * (-1.0 / 8 + r * (1.0 / 9)))));
}

/* ln(x / 2^shift) for a normal x > 0, x = 2^k m, m in [1, 2). r = m c - 1 is exact: m is split into
 * 26 and 27 bits, whose products with the 8 bits of c are; r is a multiple of 2^-60 and below 2^-7,
 * so it has 53 bits. k LN2_HI + hi is a multiple of 2^-42 below 2^10 and exact too, as is its sum
 * with r.
 * Near 1 it is 0 and hi is r: 0.51 ulp by the series. Elsewhere the result is at least 2^-8 and
 * more than r, next to which the series' error is less, and the tables' is 2^-73. Sum: 0.51 ulp. */
LANES_INLINE pair log_parts(lanes x, double shift) {
    const lane_bits bits = bits_of(x);
    const lane_bits of_m = (bits & MANTISSA_BITS) | BITS_OF_ONE;
    /* k + 1023 below the leading bit of 2^52 */
    const lanes k = lanes_of((bits >> 52) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023 + shift);
    const lanes m = lanes_of(of_m), front = lanes_of(of_m & ~UINT64_C(0x7ffffff));
    const lane_bits j = (bits >> 45) & UINT64_C(127);
    const lanes c = LANES_LOOK_UP(tt_logs, c, j);
    const lanes r = (front * c - 1.0) + (m - front) * c;
    pair sum = sum_ordered(k * LN2_HI + LANES_LOOK_UP(tt_logs, hi, j), r);
    sum.lo += (k * LN2_LO + LANES_LOOK_UP(tt_logs, lo, j)) + log_series(r);
    return sum;
}

LANES_INLINE lanes log_lanes(lanes x) {
    const pair sum = log_parts(x, 0);
    return sum.hi + sum.lo;
}

/* ---- Exponential ----------------------------------------------------------------------------- */

/* ln 2 / 64 = STEP_HI + STEP_LO to 2^-96; STEP_HI is a multiple of 2^-41, 35 bits. */
#define STEPS_PER_ONE 0x1.71547652b82fep+6
#define STEP_HI 0x1.62e42fefcp-7
#define STEP_LO -0x1.c610ca86c3899p-43

/* e^x = 2^e (power + power * p), |p| < 2^-7.5; e modulo 2^12. */
typedef struct exponential {
    lane_bits e;
    pair power;
    lanes p;
} exponential;

/* x = (64 e + j) ln 2 / 64 + r, |r| < 0.00543, and p = e^r - 1, for |x| <= 750. 64 e + j has at
 * most 17 bits, so its product with STEP_HI is exact, and the difference from x too; r is exact for
 * e = j = 0 and otherwise errs by 2^-61, half its last place, and little more. p errs by the same
 * once more; the term left out is r^7/5040. */
LANES_INLINE exponential exp_parts(lanes x) {
    const lanes shifted = x * STEPS_PER_ONE + ROUND, n = shifted - ROUND;
    const lanes r = (x - n * STEP_HI) - n * STEP_LO, r2 = r * r;
    const lanes series =
        (1.0 / 2 + r * (1.0 / 6)) + r2 * ((1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720));
    const lane_bits steps = bits_of(shifted), j = steps & UINT64_C(63);
    return (exponential){
        (steps >> 6) & UINT64_C(4095),
        {LANES_LOOK_UP(tt_powers, hi, j), LANES_LOOK_UP(tt_powers, lo, j)},
        r + r2 * series,
    };
}

/* 2^e for e in [-1022, 1023], modulo 2^12. */
LANES_INLINE lanes power_of_two(lane_bits e) {
    return lanes_of((e + UINT64_C(1023)) << 52);
}

/* e^x where that is a normal number for sure, |x| <= 708. NaN gives NaN.
 * r and p err by 2^-61 each, times a power in [1, 2); power * p and lo, both below 2^-6.5, by 2^-60
 * each, for a power above 1; so lo errs by 2^-58 or less next to a result in [1, 2), whose ulp is
 * 2^-52. Below 1 the power is 1, and it errs by 2^-60 next to an ulp of 2^-53. Sum: 0.5 + 2^-6 ulp,
 * 0.52. */
LANES_INLINE lanes exp_lanes(lanes x) {
    const exponential a = exp_parts(x);
    return (a.power.hi + (a.power.lo + a.power.hi * a.p)) * power_of_two(a.e);
}

/* ---- Sine and cosine ------------------------------------------------------------------------- */

/* pi/64 = ARC_HI + ARC_MID + ARC_LO to 2^-152; the first two are 46 and 47 bits. */
#define ARCS_PER_ONE 0x1.45f306dc9c883p+4
#define ARC_HI 0x1.921fb54442dp-5
#define ARC_MID 0x1.8469898cc51p-53
#define ARC_LO 0x1.c06e0e6894812p-99

/* The sine at j pi/64, j from 0 up, by the symmetries of the first quarter. */
LANES_INLINE pair sine_at(lane_bits j) {
    const lane_bits back = UINT64_C(0) - ((j >> 5) & UINT64_C(1)), sign = (j & UINT64_C(64)) << 57;
    const lane_bits i = ((j & UINT64_C(31)) ^ back) + (back & UINT64_C(33)); /* or 32 - it */
    return (pair){lanes_of(bits_of(LANES_LOOK_UP(tt_sines, hi, i)) ^ sign),
                  lanes_of(bits_of(LANES_LOOK_UP(tt_sines, lo, i)) ^ sign)};
}

/* x = n pi/64 + r + lo, |r| < 0.02455, for x in [0, 2 pi].
 * n ARC_HI and n ARC_MID have no more than 53 bits and are exact; so is x - n ARC_HI, a multiple of
 * 2^-58 below 2^-5. No double comes nearer to a zero than 2^-61 of itself, next to which lo's
 * rounding is nothing. The front of r is 26 bits of it (Dekker). less_1 is cos r - 1 and less_r is
 * sin r - r: r^8/8! is the last term of one, r^7/7! of the other, and what is left out is 2^-61 of
 * r and less of cos. */
typedef struct angle {
    lane_bits n;
    lanes r, front, back, lo, less_1, less_r;
} angle;

LANES_INLINE angle angle_of(lanes x) {
    const lanes shifted = x * ARCS_PER_ONE + ROUND, n = shifted - ROUND;
    const pair y = sum_any(x - n * ARC_HI, -(n * ARC_MID));
    const lanes r = y.hi, r2 = r * r, split = r * 0x8000001p0, front = split - (split - r);
    return (angle){
        bits_of(shifted) & UINT64_C(255),
        r,
        front,
        r - front,
        y.lo - n * ARC_LO,
        r2 * ((-1.0 / 2 + r2 * (1.0 / 24)) + r2 * r2 * (-1.0 / 720 + r2 * (1.0 / 40320))),
        r * r2 * (-1.0 / 6 + r2 * (1.0 / 120 + r2 * (-1.0 / 5040))),
    };
}

/* S cos(r + lo) + C sin(r + lo). The product of front with the 26 bits of C's hi is exact. In the
 * rest, lo (C - S r) leaves out lo r^2/2, 2^-12 u, and S (cos r - 1) and C (sin r - r) are below
 * 2^-10.5 of the result and err by 4 u of that. Sum: 0.51 ulp. */
LANES_INLINE lanes sine_of(angle a, pair s, pair c) {
    const pair sum = sum_ordered(s.hi, c.hi * a.front);
    const lanes rest = (c.hi * a.back + (c.lo * a.r + s.lo)) + (c.hi - s.hi * a.r) * a.lo;
    return sum.hi + (sum.lo + (rest + ((s.hi + s.lo) * a.less_1 + (c.hi + c.lo) * a.less_r)));
}

/* Both for x in [0, 2 pi]: the sine's S and C are the sines at n pi/64 and a quarter (32) from it,
 * the cosine's are a quarter further. */
LANES_INLINE void sin_cos_lanes(lanes x, lanes *sine, lanes *cosine) {
    const angle a = angle_of(x);
    const pair s = sine_at(a.n), c = sine_at(a.n + UINT64_C(32));
    *sine = sine_of(a, s, c);
    *cosine = sine_of(a, c, (pair){-s.hi, -s.lo});
}

#endif
