#include "training/ratios.h"

#include <string.h>

#include "common/stats.h"

void ratios_add(ratios *r, tt_size asked, double ratio) {
    const tt_size step = r->steps++, middle = asked / 2;
    r->last[step % RATIO_SPAN] = ratio;
    if (step >= middle - RATIO_SPAN / 2 && step < middle + RATIO_SPAN / 2)
        r->middle[r->middle_count++] = ratio;
}

static double median_of(const double *x, tt_size n) {
    double sorted[RATIO_SPAN];
    memcpy(sorted, x, (size_t)n * sizeof *x);
    return stats_median(sorted, n);
}

double ratios_last(const ratios *r) {
    return median_of(r->last, r->steps < RATIO_SPAN ? r->steps : RATIO_SPAN);
}

double ratios_middle(const ratios *r) {
    return median_of(r->middle, r->middle_count);
}
