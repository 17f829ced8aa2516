#include "tt/norm.h"

#include <math.h>

#include "kernels.h"

double tt_norm(const double *x, tt_size n) {
    double largest = 0;
    for (tt_size i = 0; i < n; i++) {
        if (isnan(x[i])) return x[i];
        if (fabs(x[i]) > largest) largest = fabs(x[i]);
    }
    if (largest == 0 || isinf(largest)) return largest;
    /* A power of two scales without rounding, so ordinary values give the ordinary sum's bits; it
     * stays below 2^1000, or it would overflow for subnormal entries. */
    int exponent;
    (void)frexp(largest, &exponent);
    if (exponent < -1000) exponent = -1000;
    const double unit = ldexp(1, -exponent);
    return ldexp(sqrt(tt_kernels_here()->squares(x, unit, n)), exponent);
}
