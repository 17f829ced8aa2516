/* save.h: the arrays that `sqrtdk inspect` hands back, as .npy files. */
#ifndef INSPECT_SAVE_H
#define INSPECT_SAVE_H

#include <stdint.h>

#include "heads/head_files.h"
#include "tt/scale.h"

/* Weights [..,Tq,Tk] with the leading dimensions of Q, filled head by head. */
typedef struct saved_weights {
    double *data; /* NULL before the first head */
} saved_weights;

/* Copies one head's weights into place. False, after one line on standard error, without memory. */
bool saved_weights_take(saved_weights *w, const head_files *f, tt_size entry, tt_tensor weights);

/* Writes what was taken. False after one line on standard error. */
bool saved_weights_write(const saved_weights *w, const head_files *f, const char *path);

void saved_weights_free(saved_weights *w);

/* Writes dQ.npy, dK.npy and dV.npy, with the shapes of Q, K and V, into the folder, which is made
 * if it is not there. The gradient of the output is the files' dO, or, if they have none, drawn as
 * torch.manual_seed(seed); torch.randn(shape, dtype=float64), and then written as dO.npy. Keys that
 * serve several heads get the sum. False after one line on standard error; nothing is written
 * unless everything could be computed. */
bool save_gradients(const head_files *f, const tt_scale_rule *rule, uint64_t seed,
                    const char *folder);

#endif
