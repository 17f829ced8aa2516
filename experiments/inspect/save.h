/* save.h: the arrays that `sqrtdk inspect` hands back, as .npy files. */
#ifndef INSPECT_SAVE_H
#define INSPECT_SAVE_H

#include <stdint.h>

#include "common/results.h"
#include "heads/head_files.h"
#include "heads/head_gradients.h"
#include "tt/scale.h"

/* Room for the weights [Tq,Tk] of those heads that are wanted, one after the other. */
typedef struct kept_weights {
    double *data, **of; /* of[batch * heads]: a place in data, or NULL */
} kept_weights;

/* Zeros, for each head whose wanted[entry] is true. False after one line on standard error if that
 * and `more` matrices [Tq,Tk] are beyond memory. The caller frees. */
bool kept_weights_new(kept_weights *w, const head_files *f, const bool *wanted, tt_size more);

/* Writes the weights of all heads, which were all wanted, as [..,Tq,Tk] with the leading dimensions
 * of Q; the file takes its place with the results. False after one line on standard error. */
bool kept_weights_write(const kept_weights *w, const head_files *f, const char *path, results *to);

void kept_weights_free(kept_weights *w);

/* Writes dQ.npy, dK.npy and dV.npy, with the shapes of Q, K and V, into the folder, which is made
 * if it is not there. The gradient of the output is the files' dO, or, if they have none, drawn as
 * torch.manual_seed(seed); torch.randn(shape, dtype=float64), and then written as dO.npy. Keys that
 * serve several heads get the sum. False after one line on standard error; the files take their
 * places with the results. */
bool save_gradients(const head_files *f, const tt_scale_rule *rule, uint64_t seed,
                    const char *folder, results *to);

#endif
