#include "gradcheck/format.h"

#include <math.h>

/* The 16-bit formats add up in float32. */
static bool has_wide_sums(const number_format *f) {
    return f->bits < 24;
}

double format_multiple(const number_format *f) {
    return has_wide_sums(f) ? 3 : 4;
}

/* Both grow slower than n u, the worst case. */
double format_sum_error(const number_format *f, tt_size n) {
    if (has_wide_sums(f)) return (double)n * 0x1p-24;
    return f->unit * fmax(1, (double)n / 16);
}
