#include "common/change.h"

#include <math.h>

/* Three digits, below a million written out: 20300, not 2.03e+04. */
static void print_factor(FILE *to, const char *moved, double factor, double from, double until) {
    double unit = 1;
    while (factor < 1e6 && factor / unit >= 1000) unit *= 10;
    const double rounded = unit > 1 ? floor(factor / unit + 0.5) * unit : factor;
    (void)fprintf(to, unit > 1 ? "%s %.0f-fold (%.2g to %.2g)" : "%s %.3g-fold (%.2g to %.2g)",
                  moved, rounded, from, until);
}

void change_print(FILE *to, double from, double until) {
    const double factor = until > from ? until / from : from / until;
    if (from == 0 && until == 0)
        (void)fputs("stayed 0", to);
    else if (from == 0 || until == 0)
        (void)fprintf(to, "went from %.2g to %.2g", from, until);
    else if (factor < 1.25)
        (void)fprintf(to, "hardly changed (%.2g to %.2g)", from, until);
    else
        print_factor(to, until > from ? "grew" : "fell", factor, from, until);
}
