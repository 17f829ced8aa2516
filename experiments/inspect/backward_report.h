/* backward_report.h: what `sqrtdk inspect` says of a layer's gradients. */
#ifndef INSPECT_BACKWARD_REPORT_H
#define INSPECT_BACKWARD_REPORT_H

#include <stdio.h>

#include "inspect/backward.h"

/* A row for each layer, with a header. */
void backward_report_signal(FILE *to, const layer_backward *layers, int count);

/* A row for each layer, format and pipeline, with a header. */
void backward_report_errors(FILE *to, const layer_backward *layers, int count);

/* Sentences on the gradients, where dO was given, and a table of the errors, where they were asked
 * for. */
void backward_report_layer(FILE *to, const layer_backward *l);

#endif
