#include "common/change.h"

void change_print(FILE *to, double from, double until) {
    const double factor = until > from ? until / from : from / until;
    if (from == 0 && until == 0)
        (void)fputs("stayed 0", to);
    else if (from == 0 || until == 0)
        (void)fprintf(to, "went from %.2g to %.2g", from, until);
    else if (factor < 1.25)
        (void)fprintf(to, "hardly changed (%.2g to %.2g)", from, until);
    else
        (void)fprintf(to,
                      factor < 1000 ? "%s %.3g-fold (%.2g to %.2g)" : "%s %.0f-fold (%.2g to %.2g)",
                      until > from ? "grew" : "fell", factor, from, until);
}
