/* exact.h: which means of a saturation run are known exactly, and their values, at the
 * run's own cells and on a grid dense enough for smooth lines.
 */
#ifndef SATURATION_EXACT_H
#define SATURATION_EXACT_H

#include <stdio.h>

#include "saturation/draw.h"

/* Sets `exact` of all cells: nan for rules that divide by norms (their logits are not Gaussian),
 * for standard deviations of the logits above 64 (as far as theory.h goes) and for metrics without
 * an exact mean. */
void saturation_exact(saturation *s);

/* Lines for a figure: for every number of keys and rule with exact values, a row for each d_k of
 * the run and three an octave between (or each sigma, and twelve an octave). False without memory.
 */
bool saturation_theory_csv(FILE *to, const saturation *s);

#endif
