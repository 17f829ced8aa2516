/* head_gradients.h: the gradients of attention over all heads of some files, as one layer of a
 * model has them: dQ like Q, dK like K, dV like V. Keys and values that serve several heads collect
 * the gradients of all.
 */
#ifndef HEADS_HEAD_GRADIENTS_H
#define HEADS_HEAD_GRADIENTS_H

#include <stdint.h>

#include "heads/head_files.h"
#include "tt/scale.h"
#include "tt/tape.h"

enum { HEAD_DQ, HEAD_DK, HEAD_DV, HEAD_GRADIENTS };

typedef struct head_gradients {
    tt_tensor of[HEAD_GRADIENTS]; /* a matrix for each head, of Q or of K, in the files' order */
} head_gradients;

/* "dQ", "dK", "dV", and the array of the files whose shape it has. */
const char *head_gradient_name(int which);
const array *head_gradient_shape(const head_files *f, int which);

/* What else is to be known of each head, from the tape after its backward. False, for want of
 * memory, ends it. */
typedef struct head_visitor {
    bool (*visit)(void *context, const tt_tape *tape, tt_var output, const attention_head *head,
                  tt_size entry);
    void *context;
} head_visitor;

/* Computes all, from the gradient of the output: [batch * heads, queries, d_v], dO of the files or
 * another; visitor may be NULL. False, after one line on standard error, without memory or where
 * the tape refuses. Free with head_gradients_free in any case. */
bool head_gradients_compute(head_gradients *g, const head_files *f, const tt_scale_rule *rule,
                            tt_tensor d_out, const head_visitor *visitor);
void head_gradients_free(head_gradients *g);

/* A gradient of the output [batch * heads, queries, d_v], drawn as torch.manual_seed(seed);
 * torch.randn(shape, dtype=float64). The caller frees; data is NULL without memory. */
tt_tensor head_gradients_draw(const head_files *f, uint64_t seed);

#endif
