/* factor_report.h: what `sqrtdk inspect` says of the factors that it found. */
#ifndef INSPECT_FACTOR_REPORT_H
#define INSPECT_FACTOR_REPORT_H

#include <stdio.h>

#include "inspect/factor_layer.h"

/* A row for each layer, batch entry and head, and one for all heads of a layer, with a header. */
void factor_report_csv(FILE *to, const factor_layer *layers, int count);

/* Sentences: heads that are alike share one. `claimed` is the rule of --scale. */
void factor_report_layer(FILE *to, const factor_layer *l, const scaling *claimed);

#endif
