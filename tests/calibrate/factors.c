/* factors.c: does inspect find the factor (inspect/factor.h)? Weights and outputs of known factor,
 * rule and mask are made as models compute them, in each format, and it is counted what is found:
 * how often it is, how often the truth lies outside the error bar, and how many sentences are not
 * so.
 *
 *   calibrate-factors [LAYERS [SEED]]      of two heads, of each kind; by default 25, seed 1
 *
 * With weights nothing may be wrong; outputs tell less, of few rows in 16 bits not always enough (5
 * of 7,800 heads were wrong when this was written, and 1 factor of 5147 outside its bar).
 */
#include <stdio.h>
#include <stdlib.h>

#include "../factor_cases.h"
#include "common/machine.h"
#include "common/parallel.h"

static void print(const char *what, const factor_tally *t, int wrong) {
    (void)printf("%-36s %6d %6d %6d %6d %7d %8d %5d %6d %6.2f %5.1f\n", what, t->heads, t->found,
                 t->none, t->unknown, t->outside, t->misnamed, t->masked, wrong, t->misfit,
                 t->worst);
}

/* All masks of each kind of layer in each format, from weights and from outputs. */
enum { FORMATS = 4, PIECES = 2 * FORMATS * CASE_KINDS };

typedef struct job {
    int count;
    unsigned seed;
    factor_tally of[PIECES][CASE_MASKS];
} job;

static int outputs_of(tt_size piece) {
    return piece >= FORMATS * CASE_KINDS;
}

static int masks_of(tt_size piece) {
    return outputs_of(piece) ? CASE_KNOWN_MASKS : CASE_MASKS;
}

static void run(void *context, tt_size piece) {
    job *j = context;
    for (int mask = 0; mask < masks_of(piece); mask++)
        factor_cases_run((int)(piece % CASE_KINDS), mask,
                         format_at((int)(piece / CASE_KINDS % FORMATS)), outputs_of(piece),
                         j->count, j->seed, &j->of[piece][mask]);
}

/* Returns how many are wrong. */
static int show(const job *j, tt_size piece, int *outside) {
    const int kind = (int)(piece % CASE_KINDS);
    factor_tally total = {0};
    char what[64];
    for (int mask = 0; mask < masks_of(piece); mask++) {
        const factor_tally *t = &j->of[piece][mask];
        (void)snprintf(what, sizeof what, "  mask %s", factor_case_mask(mask));
        if (factor_tally_wrong(t, kind) + t->outside > 0)
            print(what, t, factor_tally_wrong(t, kind));
        factor_tally_add(&total, t);
    }
    (void)snprintf(what, sizeof what, "%s %s %s", outputs_of(piece) ? "outputs" : "weights",
                   format_name((int)(piece / CASE_KINDS % FORMATS)), factor_case_name(kind));
    print(what, &total, factor_tally_wrong(&total, kind));
    *outside += total.outside;
    return factor_tally_wrong(&total, kind);
}

int main(int argc, char **argv) {
    static job j;
    int wrong[2] = {0, 0}, outside = 0;
    j.count = argc > 1 ? atoi(argv[1]) : 25;
    j.seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    (void)printf("%-36s %6s %6s %6s %6s %7s %8s %5s %6s %6s %5s\n", "", "heads", "found", "none",
                 "unsure", "outside", "misnamed", "mask", "wrong", "misfit", "worst");
    parallel_for((int)machine_processors(), PIECES, run, &j);
    for (tt_size piece = 0; piece < PIECES; piece++)
        wrong[outputs_of(piece)] += show(&j, piece, &outside);
    (void)printf("outside their error bars: %d; wrong: %d of weights, %d of outputs\n", outside,
                 wrong[0], wrong[1]);
    return wrong[0] > 0;
}
