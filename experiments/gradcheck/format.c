#include "gradcheck/format.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const number_format FORMATS[] = {
    {"bfloat16", 8, -126, 0x1.fep127, 0x1p-8, 0x1p-134, true, 3},
    {"float16", 11, -14, 65504, 0x1p-11, 0x1p-25, true, 3},
    {"float32", 24, -126, 0x1.fffffep127, 0x1p-24, 0x1p-150, false, 4},
    {"float64", 53, -1022, DBL_MAX, 0x1p-53, 0x1p-1074, false, 4},
};

enum { COUNT = sizeof FORMATS / sizeof *FORMATS, DISTINCT = 4 };

const number_format *format_at(int i) {
    return i >= 0 && i < COUNT ? &FORMATS[i] : NULL;
}

const char *format_name(int i) {
    return i < COUNT ? FORMATS[i].name : NULL;
}

const number_format *format_find(const char *name) {
    for (int i = 0; i < COUNT; i++)
        if (strcmp(FORMATS[i].name, name) == 0) return &FORMATS[i];
    return NULL;
}

bool format_holds(const number_format *f, double x) {
    int exponent;
    if (x == 0) return true;
    if (!(fabs(x) <= f->most)) return false;
    (void)frexp(x, &exponent); /* |x| in [2^(exponent - 1), 2^exponent) */
    const int first = exponent - 1 > f->least ? exponent - 1 : f->least;
    const double places = ldexp(x, f->bits - 1 - first); /* in units of the last place */
    return places == floor(places);
}

/* Both grow slower than n u, the worst case; the 16-bit formats add up in float32. */
double format_sum_error(const number_format *f, tt_size n) {
    if (f->wide_sums) return (double)n * 0x1p-24;
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
    for (int i = 0; i < COUNT - 1; i++) {
        int distinct, of_ours;
        if (all_held(&FORMATS[i], given, lists, &distinct) && distinct == DISTINCT &&
            !all_held(&FORMATS[i], ours, lists, &of_ours))
            return &FORMATS[i];
    }
    return NULL;
}
