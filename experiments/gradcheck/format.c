#include "gradcheck/format.h"

#include <math.h>

enum { DISTINCT = 4 };

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

/* Whether all are numbers of the format; counts up to DISTINCT different ones. */
static bool all_held(const number_format *f, const number_list *list, int lists, int *distinct) {
    double seen[DISTINCT];
    *distinct = 0;
    for (int l = 0; l < lists; l++)
        for (tt_size i = 0; i < list[l].count; i++) {
            const double x = list[l].data[i];
            bool known = x == 0 || *distinct == DISTINCT;
            if (!isfinite(x)) continue;
            if (!format_holds(f, x)) return false;
            for (int s = 0; !known && s < *distinct; s++) known = seen[s] == x;
            if (!known) seen[(*distinct)++] = x;
        }
    return true;
}

const number_format *format_detect(const number_list *given, const number_list *ours, int lists) {
    for (int i = 0; format_at(i + 1); i++) {
        int distinct, of_ours;
        if (all_held(format_at(i), given, lists, &distinct) && distinct == DISTINCT &&
            !all_held(format_at(i), ours, lists, &of_ours))
            return format_at(i);
    }
    return NULL;
}
