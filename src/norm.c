#include "tt/norm.h"

#include <math.h>

#include "kernels.h"

double tt_norm(const double *x, tt_size n) {
    const tt_kernels *kernels = tt_kernels_here();
    const double largest = kernels->largest_size(x, n);
    if (largest == 0 || !isfinite(largest)) return largest;
    /* A power of two scales without rounding, so ordinary values give the ordinary sum's bits; it
     * stays below 2^1000, or it would overflow for subnormal entries. */
    int exponent;
    (void)frexp(largest, &exponent);
    if (exponent < -1000) exponent = -1000;
    const double unit = ldexp(1, -exponent);
    return ldexp(sqrt(kernels->squares(x, unit, n)), exponent);
}
