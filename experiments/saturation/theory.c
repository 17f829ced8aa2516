/* theory.c: how the means become one-dimensional integrals.
 *
 * With S = sum exp(sigma z_i) and 1/S^a = 1/Gamma(a) integral t^(a-1) exp(-t S) dt, a mean over n
 * weights becomes one integral over u = ln t of products of one-score averages
 *
 *     A_k(u) = E[y^k e^-y],   L(u) = E[ln(y) y e^-y],   y = exp(u + sigma z),
 *
 *     E sum w^a               = n / Gamma(a)  integral A_a A_0^(n-1) du
 *     E sum_{i!=j} w_i w_j     = n (n-1)      integral A_1^2 A_0^(n-2) du
 *     E sum_{i!=j} w_i^2 w_j^2 = n (n-1) / 6  integral A_2^2 A_0^(n-2) du
 *     E entropy               = -gamma - n    integral L A_0^(n-1) du
 *
 * the last as -d/da of the first at a = 1: it loses no digits however large sigma is. The maximum
 * needs the other scores to stay below the largest one,
 *
 *     E max w = n integral du integral dz phi(z) y e^-y B(u, z)^(n-1),
 *     B(u, z) = integral_{-inf}^z phi(z') exp(-exp(u + sigma z')) dz',   B(u, inf) = A_0(u).
 *
 * All integrands are analytic and vanish at both ends, where the plain trapezoid rule converges
 * exponentially. Only B has a moving end: there the Euler-Maclaurin terms of the upper end are
 * subtracted, so that one sweep over z yields B at every z. */
#include "saturation/theory.h"

#include <math.h>

#include "tt/elementary.h"

static const double EULER_GAMMA = 0.57721566490153286061;
static const double INV_SQRT_2PI = 0.39894228040143267794;

/* A normal score beyond this has probability 6e-16: below every error bound, even n times. */
static const double Z_MAX = 8.0;

static double normal_density(double z) {
    return INV_SQRT_2PI * tt_exp(-0.5 * z * z);
}

/* Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.11: 1/2 + phi(z) (z + z^3/3 +
 * z^5/(3 5) + ...), whose terms have one sign. */
double theory_normal_cdf(double z) {
    if (fabs(z) >= Z_MAX) return z > 0 ? 1 : 0;
    double term = z, sum = z;
    for (int k = 3; fabs(term) > 1e-17 * fabs(sum); k += 2) {
        term *= z * z / k;
        sum += term;
    }
    return 0.5 + normal_density(z) * sum;
}

/* x^k for k >= 0 by squaring: several times faster than pow, relative error about k epsilon. */
static double int_power(double x, int k) {
    double result = 1.0;
    for (; k > 0; k >>= 1) {
        if (k & 1) result *= x;
        x *= x;
    }
    return result;
}

/* beta_c, but at least 1: the maximum of n normals varies on the scale 1 / sharpness(n), so steps
 * are chosen in that unit. */
static double sharpness(int n) {
    return fmax(1.0, sqrt(2.0 * tt_log((double)n)));
}

/* The averages over one score at one u, and the inner integral of E max w. */
typedef struct slice {
    double a[5]; /* A_0 .. A_4 */
    double log_moment;
    double top;
} slice;

/* Euler-Maclaurin terms at an end of the trapezoid rule for f = phi(z) exp(-y), in units of the
 * step h: h f'/12 - h^3 f^(3)/720 + h^5 f^(5)/30240. The derivatives of f are Bell polynomials in
 * p_k = h^k (ln f)^(k). The first term left out, in h^7, costs at most 1e-11 at the steps used. */
static double end_correction(double f, double z, double y, double h, double sigma) {
    double hs = h * sigma;
    double p1 = -hs * y - h * z, p2 = -hs * hs * y - h * h;
    double p3 = -hs * hs * hs * y, p4 = hs * p3, p5 = hs * p4;
    double square = p1 * p1;
    double d3 = p1 * (square + 3 * p2) + p3;
    double d5 =
        p1 * (square * (square + 10 * p2) + 15 * p2 * p2 + 5 * p4) + 10 * p3 * (square + p2) + p5;
    return f * (p1 / 12 - d3 / 720 + d5 / 30240);
}

/* Where the sweeps begin: ln y below which n scores together add less than 1e-13. */
static double log_y_min(int n) {
    return -32.0 - tt_log((double)n);
}

/* One sweep over z at fixed u with step h. It starts where y is so small that e^-y = 1 and y^k = 0,
 * so that the normal distribution function stands for the part left out, and ends where
 * e^-y y^4 < 1e-16. Points with fy <= 1e-20 cannot matter to the maximum and cost the most. */
static void integrate_scores(int n, double sigma, double u, double h, slice *s) {
    double z_low = fmax(-Z_MAX, (log_y_min(n) - u) / sigma);
    double growth = tt_exp(sigma * h), y = tt_exp(u + sigma * z_low);
    double f = INV_SQRT_2PI * tt_exp(-y - 0.5 * z_low * z_low);
    double b_low =
        tt_exp(-y) * theory_normal_cdf(z_low) - h * (f / 2 - end_correction(f, z_low, y, h, sigma));
    *s = (slice){0};
    for (int i = 0;; i++) {
        double z = z_low + i * h;
        if (z > Z_MAX || y > 55.0) break;
        f = INV_SQRT_2PI * tt_exp(-y - 0.5 * z * z);
        double fy = f * y;
        s->a[0] += f;
        s->a[1] += fy;
        s->a[2] += fy * y;
        s->a[3] += fy * y * y;
        s->a[4] += fy * y * y * y;
        s->log_moment += fy * (u + sigma * z);
        if (fy > 1e-20) {
            double b = b_low + h * (s->a[0] - f / 2 - end_correction(f, z, y, h, sigma));
            s->top += fy * int_power(b, n - 1);
        }
        y *= growth;
    }
    for (int k = 1; k < 5; k++) s->a[k] *= h;
    s->log_moment *= h;
    s->top *= h;
    s->a[0] = b_low + h * s->a[0];
}

/* sigma = 0, and any sigma at n = 1: every weight is exactly 1/n. */
static void uniform_weights(int n, theory_moments *out) {
    double w = 1.0 / n;
    out->sum_w2 = w;
    out->sum_w3 = w * w;
    out->sum_w4 = w * w * w;
    out->sum_w2_squared = w * w;
    out->one_minus_sum_w2 = (n - 1) * w;
    out->jacobian_fro2 = (n - 1) * w * w;
    out->entropy = tt_log((double)n);
    out->max_weight = w;
}

/* In u the integrands change over a width of 1 (y e^-y) or sigma / sharpness (A_0^(n-1)), whichever
 * is larger; in z over 1 / sharpness or 1 / sigma, whichever is smaller. The steps are a quarter
 * and a fifth of that: at twice the step errors reach 8e-6, at this one 1e-11. The sum over u
 * starts where all y are negligible and ends where no score is left small enough to matter. */
void theory_iid_refined(int n, double sigma, double refine, theory_moments *out) {
    sigma = fabs(sigma);
    uniform_weights(n, out);
    if (n == 1 || sigma == 0.0) return;
    double du = 0.26 * fmax(1.0, sigma / sharpness(n)) / refine;
    double dz = fmin(0.26 / sharpness(n), 0.2 / sigma) / refine;
    double sum[5] = {0}, pairs1 = 0, pairs2 = 0, log_sum = 0, top = 0;
    double u_low = log_y_min(n) - Z_MAX * sigma, rest = 1.0;
    for (int i = 0; rest > 1e-16; i++) {
        slice s;
        integrate_scores(n, sigma, u_low + i * du, dz, &s);
        double others = int_power(s.a[0], n - 2);
        rest = others * s.a[0];
        for (int k = 2; k < 5; k++) sum[k] += s.a[k] * rest;
        pairs1 += s.a[1] * s.a[1] * others;
        pairs2 += s.a[2] * s.a[2] * others;
        log_sum += s.log_moment * rest;
        top += s.top;
    }
    double n_du = n * du;
    out->sum_w2 = n_du * sum[2];
    out->sum_w3 = n_du * sum[3] / 2;
    out->sum_w4 = n_du * sum[4] / 6;
    out->one_minus_sum_w2 = n_du * (n - 1) * pairs1;
    out->sum_w2_squared = out->sum_w4 + n_du * (n - 1) * pairs2 / 6;
    out->jacobian_fro2 = out->sum_w2 - 2 * out->sum_w3 + out->sum_w2_squared;
    out->entropy = -EULER_GAMMA - n_du * log_sum;
    out->max_weight = n_du * top;
}

void theory_iid(int n, double sigma, theory_moments *out) {
    theory_iid_refined(n, sigma, 1.0, out);
}

/* total += weight * m, field by field */
static void accumulate(double weight, const theory_moments *m, theory_moments *total) {
    total->sum_w2 += weight * m->sum_w2;
    total->sum_w3 += weight * m->sum_w3;
    total->sum_w4 += weight * m->sum_w4;
    total->sum_w2_squared += weight * m->sum_w2_squared;
    total->one_minus_sum_w2 += weight * m->one_minus_sum_w2;
    total->jacobian_fro2 += weight * m->jacobian_fro2;
    total->entropy += weight * m->entropy;
    total->max_weight += weight * m->max_weight;
}

/* ln of the chi density of r in the variable v, r = exp(v - e^-v), up to a constant. Written in
 * rho = ln(r / sqrt(d)), whose terms stay small near the peak however large d is. */
static double log_chi_density(double v, double d) {
    double rho = v - tt_exp(-v) - 0.5 * tt_log(d);
    return d * (rho - 0.5 * tt_expm1(2.0 * rho)) + tt_log1p(tt_exp(-v));
}

/* What is averaged over |q|: called with every norm and its weight, of which only ratios count. */
typedef void norm_visit(void *context, double norm, double weight);

/* In v the density dies doubly exponentially on the left even at d = 1, where that of ln r would
 * not, and it is a bump of width 0.7 / sqrt(d) for large d: the trapezoid rule needs few nodes.
 * Returns the sum of the weights: dividing by it makes the normalisation constant superfluous. */
static double over_norms(int d_k, double refine, norm_visit *visit, void *context) {
    double d = d_k, peak = 0.5 * tt_log(d);
    for (int i = 0; i < 20; i++) peak = 0.5 * tt_log(d) + tt_exp(-peak);
    double step = 0.4 / sqrt(d + 28.0) / refine;
    double log_peak = log_chi_density(peak, d), mass = 0.0;
    for (int side = -1; side <= 1; side += 2) {
        for (int i = side < 0 ? 1 : 0;; i++) {
            double v = peak + side * i * step;
            double weight = tt_exp(log_chi_density(v, d) - log_peak);
            if (weight < 1e-12) break;
            visit(context, tt_exp(v - tt_exp(-v)), weight);
            mass += weight;
        }
    }
    return mass;
}

typedef struct moments_at_scale {
    int n;
    double scale, refine;
    theory_moments sum;
} moments_at_scale;

static void add_moments(void *context, double norm, double weight) {
    moments_at_scale *a = context;
    theory_moments m;
    theory_iid_refined(a->n, a->scale * norm, a->refine, &m);
    accumulate(weight, &m, &a->sum);
}

void theory_qk_refined(int n, int d_k, double scale, double refine, theory_moments *out) {
    moments_at_scale a = {.n = n, .scale = scale, .refine = refine};
    const double mass = over_norms(d_k, refine, add_moments, &a);
    *out = (theory_moments){0};
    accumulate(1.0 / mass, &a.sum, out);
}

void theory_qk(int n, int d_k, double scale, theory_moments *out) {
    theory_qk_refined(n, d_k, scale, 1.0, out);
}

double theory_gap_density(int n) {
    if (n < 2) return 0.0;
    double h = 0.2 / sharpness(n), sum = 0.0;
    for (double z = -Z_MAX; z < Z_MAX; z += h) {
        double density = normal_density(z);
        sum += density * density * int_power(theory_normal_cdf(z), n - 2);
    }
    return (double)n * (n - 1) * h * sum;
}

/* Probability that the largest of n normals exceeds all others by more than gap. */
static double gap_survival(int n, double gap) {
    double h = 0.2 / sharpness(n), sum = 0.0;
    for (double z = -Z_MAX; z < Z_MAX; z += h) {
        sum += normal_density(z) * int_power(theory_normal_cdf(z - gap), n - 1);
    }
    return n * h * sum;
}

double theory_median_gap(int n) {
    if (n < 2) return INFINITY;
    /* the median is 0.95 at n = 2 and shrinks with n; 50 bisections reach rounding */
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 50; i++) {
        double middle = 0.5 * (low + high);
        if (gap_survival(n, middle) > 0.5) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high);
}

typedef struct gap_below {
    double gap;
    double sum; /* of weight * P(|N(0, 1)| < gap / (sqrt(2) norm)) */
} gap_below;

static void add_gap_below(void *context, double norm, double weight) {
    gap_below *b = context;
    b->sum += weight * (2.0 * theory_normal_cdf(b->gap / (sqrt(2.0) * norm)) - 1.0);
}

double theory_two_key_gap(int d_k) {
    /* for |q| = sqrt(d_k) it would be 0.954 sqrt(d_k), and at every d_k it is less; 50 bisections
     * reach rounding */
    double low = 0.0, high = sqrt((double)d_k);
    for (int i = 0; i < 50; i++) {
        gap_below below = {.gap = 0.5 * (low + high)};
        const double mass = over_norms(d_k, 1.0, add_gap_below, &below);
        if (below.sum < 0.5 * mass) {
            low = below.gap;
        } else {
            high = below.gap;
        }
    }
    return 0.5 * (low + high);
}

double theory_freezing_d_k(int n) {
    return 2.0 * tt_log((double)n);
}
