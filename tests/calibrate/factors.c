/* factors.c: does inspect find the factor (inspect/factor.h)? Weights and outputs of known factor,
 * rule and mask are made as models compute them, in each format, and it is counted what is found:
 * how often it is, how often the truth lies outside the error bar, and how many sentences are not
 * so.
 *
 *   calibrate-factors [LAYERS [SEED]]      of two heads, of each kind; by default 50, seed 1
 */
#include <stdio.h>
#include <stdlib.h>

#include "../factor_cases.h"

static void print(const char *what, const factor_tally *t, int wrong) {
    (void)printf("%-36s %6d %6d %6d %6d %7d %8d %5d %6d %6.2f %5.1f\n", what, t->heads, t->found,
                 t->none, t->unknown, t->outside, t->misnamed, t->masked, wrong, t->misfit,
                 t->worst);
}

/* All masks of a kind of layer in a format. */
static int run(int kind, const number_format *f, int outputs, int count, unsigned seed) {
    factor_tally total = {0};
    char what[64];
    const int masks = outputs ? CASE_KNOWN_MASKS : CASE_MASKS;
    for (int mask = 0; mask < masks; mask++) {
        factor_tally t = {0};
        factor_cases_run(kind, mask, f, outputs, count, seed, &t);
        if (factor_tally_wrong(&t, kind) > 0 || t.outside > 0) {
            (void)snprintf(what, sizeof what, "  mask %s", factor_case_mask(mask));
            print(what, &t, factor_tally_wrong(&t, kind));
        }
        factor_tally_add(&total, &t);
    }
    (void)snprintf(what, sizeof what, "%s %s %s", outputs ? "outputs" : "weights", f->name,
                   factor_case_name(kind));
    const int wrong = factor_tally_wrong(&total, kind);
    print(what, &total, wrong);
    return wrong;
}

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 50;
    const unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    int wrong = 0;
    (void)printf("%-36s %6s %6s %6s %6s %7s %8s %5s %6s %6s %5s\n", "", "heads", "found", "none",
                 "unsure", "outside", "misnamed", "mask", "wrong", "misfit", "worst");
    for (int outputs = 0; outputs < 2; outputs++)
        for (int i = 0; format_at(i); i++)
            for (int kind = 0; kind < CASE_KINDS; kind++)
                wrong += run(kind, format_at(i), outputs, count, seed);
    (void)printf("wrong: %d\n", wrong);
    return wrong > 0;
}
