/* factor_layer.h: which factor, rule and mask each head of a layer used, from the weights or the
 * outputs that the model itself computed.
 *
 * For each head, with logits rounded as finely as what is given, then more coarsely (formats of the
 * list: a model may compute logits in fewer bits than it keeps weights in), plain q.k is tried
 * first, then every rule that divides by norms or depends on the row. The first that explains all
 * is taken.
 */
#ifndef INSPECT_FACTOR_LAYER_H
#define INSPECT_FACTOR_LAYER_H

#include "inspect/factor.h"
#include "inspect/factor_number.h"

typedef struct factor_layer {
    const char *name; /* borrowed */
    bool outputs;     /* from outputs, not from weights */
    tt_size batch, heads, queries, keys;
    const number_format *format; /* of what was given */
    factor_numbers numbers;
    double sum_least, sum_most; /* of a row's weights, where not 1 but for rounding; else 1 */
    factor_fit *fit;            /* [batch * heads] */
    factor_fit whole;           /* of all heads together */
} factor_layer;

/* What a model computed. */
typedef struct factor_source {
    const char *path;
    bool outputs;
    tt_size d_model; /* or 0 */
    int threads;
} factor_source;

/* Reads the file, [..,Tq,Tk] weights or [..,Tq,d_v] outputs with the leading dimensions of Q, and
 * fits all heads. Returns EXIT_OK and the caller frees; or EXIT_FAILED after one line, and there is
 * nothing to free. */
int factor_layer_fit(const char *name, const factor_source *source, const head_files *f,
                     factor_layer *out);

/* The same of what was read: `given`, of a shape that fits. Returns EXIT_OK, or EXIT_FAILED without
 * memory, after one line. */
int factor_layer_of(const char *name, const factor_source *source, const head_files *f,
                    const array *given, factor_layer *out);

void factor_layer_free(factor_layer *l);

#endif
