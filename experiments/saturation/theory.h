/* theory.h: exact expectations of the softmax of Gaussian scores.
 *
 * A measured saturation curve proves little unless the true value lies under it. For n scores drawn
 * independently from N(0, sigma^2) every mean we plot is an integral that can be computed to nearly
 * full precision, and so is its average over random queries. This module computes them, together
 * with the gap between the two largest scores and the width at which the softmax freezes.
 *
 * Notation: w = softmax(scores), J = diag(w) - w w^T, beta_c = sqrt(2 ln n). Entropies are in nats,
 * all else is dimensionless. Every function is pure and may be called from several threads. */
#ifndef SATURATION_THEORY_H
#define SATURATION_THEORY_H

typedef struct theory_moments {
    double sum_w2;           /* E sum w_i^2, the participation */
    double sum_w3;           /* E sum w_i^3 */
    double sum_w4;           /* E sum w_i^4 */
    double sum_w2_squared;   /* E (sum w_i^2)^2 */
    double one_minus_sum_w2; /* E sum_{i != j} w_i w_j, accurate relative to its own size */
    double jacobian_fro2;    /* E |J|_F^2 */
    double entropy;          /* E -sum w_i ln w_i, nats */
    double max_weight;       /* E max w_i */
} theory_moments;

/* Moments of softmax(sigma z), z_i ~ N(0,1) independent, i = 1..n. Only |sigma| matters.
 * Range: n 1..4096, |sigma| 0..64 (finite). Absolute error <= 1e-9, max_weight 1e-8.
 * Formula: Laplace transform of 1/S^a, S = sum exp(sigma z_i); see the top of theory.c. */
void theory_iid(int n, double sigma, theory_moments *out);

/* theory_iid with every integration step divided by `refine` > 0: the change from refine 1 to 2
 * bounds the discretisation error of theory_iid. Time grows with the square of refine. */
void theory_iid_refined(int n, double sigma, double refine, theory_moments *out);

/* Moments of softmax(scale q.k_i) for q, k_i ~ N(0, I) in d_k dimensions: theory_iid averaged over
 * sigma = |scale| r with r = |q| following the chi distribution with d_k degrees of freedom.
 * Range: n 1..4096, d_k 1..65536, typical sigma |scale| sqrt(d_k) 0..64. Errors as theory_iid. */
void theory_qk(int n, int d_k, double scale, theory_moments *out);

/* theory_qk with the steps of all its integrals, the one over |q| included, divided by `refine`:
 * as theory_iid_refined, but time grows with the cube of refine. */
void theory_qk_refined(int n, int d_k, double scale, double refine, theory_moments *out);

/* The normal distribution function, P(z' < z); absolute error 1e-15. */
double theory_normal_cdf(double z);

/* c(n) = n(n-1) integral phi(z)^2 Phi(z)^(n-2) dz: density at 0 of the gap between the two largest
 * of n standard normals. n 1..4096 (0 at n = 1, where there is no gap); relative error <= 1e-12. */
double theory_gap_density(int n);

/* m(n), the median of that gap: n integral phi(z) Phi(z - m)^(n-1) dz = 1/2.
 * n 1..4096 (infinite at n = 1); relative error <= 1e-11. */
double theory_median_gap(int n);

/* The median of |q.k - q.k'| for q, k, k' ~ N(0, I) in d_k dimensions: given q the difference is
 * N(0, 2 |q|^2), so the m with E P(|z| < m / (sqrt(2) |q|)) = 1/2, z ~ N(0, 1) and |q| chi with d_k
 * degrees of freedom; times |scale| for logits scale q.k. d_k 1..65536; relative error <= 1e-11. */
double theory_two_key_gap(int d_k);

/* 2 ln n: the key width at which unscaled scores, sigma = sqrt(d_k), reach beta_c. n >= 1. */
double theory_freezing_d_k(int n);

#endif
