/* factor_cases.h: heads whose factor, rule and mask are known, with weights and outputs as a model
 * computes them in a format, and what inspect/factor_layer.h makes of them. For the tests, and for
 * tests/calibrate/factors.c, which runs thousands.
 */
#ifndef FACTOR_CASES_H
#define FACTOR_CASES_H

#include "common/format.h"

enum { CASE_NONE, CASE_SQRT, CASE_TWICE, CASE_WIDTH, CASE_NUMBER, CASE_FACTORS };

/* What no factor makes: a bias that falls with the distance, logits bent by a tanh, rows of
 * different factors, two heads' worth of noise in the logits. */
enum { CASE_BIAS = CASE_FACTORS, CASE_BENT, CASE_ROWS, CASE_NOISE, CASE_ODD };

/* Rules of the house. */
enum { CASE_LOG = CASE_ODD, CASE_KEYS, CASE_COSINE, CASE_RMS, CASE_KINDS };

enum { CASE_ALL, CASE_TOP_LEFT, CASE_BOTTOM_RIGHT, CASE_WINDOW, CASE_RANGE, CASE_OWN, CASE_MASKS };
enum { CASE_KNOWN_MASKS = CASE_WINDOW }; /* those that outputs can tell */

const char *factor_case_name(int kind);
const char *factor_case_mask(int mask);

/* Heads: how many there were, and how many of them were */
typedef struct factor_tally {
    int heads;
    int found, none, unknown; /* by verdict */
    int outside;              /* found, but the factor lies outside the error bar */
    int misnamed;             /* found, and called another number or rule than it is */
    int masked;               /* found with another mask than it is, though no 0 is unsure */
    double misfit, worst;     /* the largest of those found */
} factor_tally;

void factor_tally_add(factor_tally *to, const factor_tally *x);

/* How many are wrong: a right factor not found to fit, or a sentence that is not so. */
int factor_tally_wrong(const factor_tally *x, int kind);

/* `count` layers of two heads. */
void factor_cases_run(int kind, int mask, const number_format *format, int outputs, int count,
                      unsigned seed, factor_tally *tally);

#endif
