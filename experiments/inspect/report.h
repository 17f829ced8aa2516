/* report.h: what `sqrtdk inspect` writes and says of the layers it measured. */
#ifndef INSPECT_REPORT_H
#define INSPECT_REPORT_H

#include <stdio.h>

#include "inspect/layer.h"

/* A row for each layer, batch entry, head and rule, with a header; `used` is 1 for the rule in use.
 */
void inspect_report_csv(FILE *to, const inspect_layer *layers, int count,
                        const inspect_rules *rules);

/* A table of the layer's heads, another of what each rule would make of them, and one sentence on
 * the norm of a row's softmax Jacobian, of all heads or of those where it is tiny. */
void inspect_report_layer(FILE *to, const inspect_layer *l, const inspect_rules *rules,
                          const char *mask);

/* A head's weights as rows "layer,batch,head,query,key,visible,weight", for a figure. */
void inspect_weights_header(FILE *to);
void inspect_weights_rows(FILE *to, const char *layer, tt_size batch, tt_size head_number,
                          const attention_head *head, tt_tensor weights);

#endif
