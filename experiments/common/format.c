#include "common/format.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const number_format FORMATS[] = {
    {"bfloat16", 8, -126, 0x1.fep127, 0x1p-8, 0x1p-134},
    {"float16", 11, -14, 65504, 0x1p-11, 0x1p-25},
    {"float32", 24, -126, 0x1.fffffep127, 0x1p-24, 0x1p-150},
    {"float64", 53, -1022, DBL_MAX, 0x1p-53, 0x1p-1074},
};

enum { COUNT = sizeof FORMATS / sizeof *FORMATS };

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

/* A number of x's size has its last place at 2^this. */
static int last_place(const number_format *f, double x) {
    int exponent;
    (void)frexp(x, &exponent); /* |x| in [2^(exponent - 1), 2^exponent) */
    const int first = exponent - 1 > f->least ? exponent - 1 : f->least;
    return first - f->bits + 1;
}

bool format_holds(const number_format *f, double x) {
    if (x == 0) return true;
    if (!(fabs(x) <= f->most)) return false;
    const double places = ldexp(x, -last_place(f, x));
    return places == floor(places);
}

double format_round(const number_format *f, double x) {
    if (x == 0 || !isfinite(x)) return x;
    const int place = last_place(f, x);
    const double places = ldexp(fabs(x), -place), below = floor(places), rest = places - below;
    const bool odd = floor(below / 2) != below / 2;
    const bool up = rest > 0.5 || (rest == 0.5 && odd);
    const double y = ldexp(up ? below + 1 : below, place);
    return copysign(y > f->most ? INFINITY : y, x);
}

/* ---- Which format ---------------------------------------------------------------------------- */

enum { DISTINCT = 4 };

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
