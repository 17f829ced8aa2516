/* tape.h: reverse-mode differentiation by a tape.
 *
 * Each operation appends one node: its value now, and the function that later carries its gradient
 * to its inputs. Inputs are always older than what is made from them, so backward is one walk from
 * the end to the beginning: nothing is sorted, and there are no cycles.
 *
 *   tt_tape *tape = tt_tape_new();
 *   tt_var w = tt_param(tape, weights, gradient);          (yours, lent to the tape)
 *   tt_var loss = tt_mse(tape, tt_matmul(tape, tt_const(tape, x), w), tt_const(tape, y));
 *   tt_backward(tape, loss);                               (adds dloss/dW to `gradient`)
 *   if (tt_tape_error(tape)) ...                           (asked once, at the end)
 *   tt_tape_reset(tape);                                   (keeps the memory for the next step)
 *
 * Memory. Parameters, their gradients and constants belong to the caller and are lent until reset.
 * All else belongs to the tape, in blocks that never move: a pointer into the tape is good until
 * tt_tape_reset or tt_tape_free. A step that repeats the shapes of the last one allocates nothing.
 *
 * Errors. The first wrong shape, foreign variable, non-finite scale, operation recorded during a
 * backward of its own tape, or exhausted memory is kept as one line; every later call on that tape
 * does nothing and returns a variable that is no variable.
 *
 * The operations are in tt/ops.h and tt/attention.h; link with -ltensortape -lm.
 *
 * A tape serves one thread at a time; different tapes are independent.
 */
#ifndef TT_TAPE_H
#define TT_TAPE_H

#include <stddef.h>

#include "tt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_tape tt_tape;

/* A value on a tape. `epoch` tells tapes, and the lives of one tape between resets, apart: a
 * variable of another tape or from before a reset is refused. id is -1 after an error. */
typedef struct tt_var {
    int id;
    unsigned epoch;
} tt_var;

/* A new, empty tape; NULL without memory. The caller frees it with tt_tape_free. */
tt_tape *tt_tape_new(void);

/* Forgets all nodes and the error; keeps the memory for reuse. */
void tt_tape_reset(tt_tape *tape);

/* Frees the tape and all that it computed; NULL is allowed. */
void tt_tape_free(tt_tape *tape);

/* The first error since the last reset, naming the operation and the shapes; NULL if none. The text
 * belongs to the tape and is good until reset. */
const char *tt_tape_error(const tt_tape *tape);

/* Bytes that the tape holds from the system (used or kept for reuse). */
size_t tt_tape_bytes(const tt_tape *tape);

/* A parameter: value and grad are borrowed until reset; every backward ADDS the gradient to grad,
 * which has the same shape and which the caller sets to zero. With grad.data == NULL the gradient
 * is only kept on the tape (tt_grad). Errors: a value without data or of a shape that no tensor
 * has, a grad of another shape, no memory. */
tt_var tt_param(tt_tape *tape, tt_tensor value, tt_tensor grad);

/* A constant, borrowed until reset: no gradient is computed for it, nor for what is made from
 * constants only. Errors: no data, a shape that no tensor has, no memory. */
tt_var tt_const(tt_tape *tape, tt_tensor value);

/* The value of a node; data is NULL for what is no variable of this tape. */
tt_tensor tt_value(const tt_tape *tape, tt_var var);

/* The gradient that the last backward gave this node (a parameter's too: of that backward alone).
 * data is NULL before any backward, for constants and for what is no variable of this tape. */
tt_tensor tt_grad(const tt_tape *tape, tt_var var);

/* Backward from a [1,1,1] node whose gradient is 1. Each call starts the nodes' gradients anew and
 * adds once more to the parameters' own: after two calls these are doubled exactly. From what is
 * made from constants only all gradients are 0 and nothing is added, which is no error. After an
 * error on the way the gradients mean nothing. */
void tt_backward(tt_tape *tape, tt_var scalar);

/* Backward from any node with the given gradient (dLoss/dvar, the cotangent) of the same shape,
 * which may be a gradient of this tape. Errors of both: a foreign variable, another shape, no
 * memory, a call during a backward of this tape. */
void tt_backward_from(tt_tape *tape, tt_var var, tt_tensor cotangent);

/* ---- Bringing your own operation ------------------------------------------------------------- */

enum { TT_MAX_INPUTS = 8 };

/* What the two functions of an operation are given. Shapes are those of the call to tt_custom. */
typedef struct tt_call {
    int inputs;
    tt_tensor in[TT_MAX_INPUTS];  /* values of the inputs */
    tt_tensor din[TT_MAX_INPUTS]; /* backward: ADD to these; data is NULL where none is wanted */
    tt_tensor out;                /* forward: write this; backward: as forward left it */
    tt_tensor dout;               /* backward: gradient of out */
    void *context;                /* as given to tt_custom */
} tt_call;

typedef void tt_function(const tt_call *call);

/* Records an operation of the caller's: allocates the result [batch, rows, cols], runs forward at
 * once and backward when a gradient passes. `name` (for messages) and `context` are borrowed until
 * reset; tt_tape_alloc gives memory that lives exactly as long. Gradients of inputs must be ADDED
 * (+=): a variable may be used twice. Neither function may reset or free the tape that calls it;
 * backward may record nothing on it (an error) but may take memory from it and use other tapes.
 * Errors: a foreign variable, more than TT_MAX_INPUTS inputs, a shape that no tensor has, no
 * memory. Every operation of this library is made by this function. */
tt_var tt_custom(tt_tape *tape, const char *name, int inputs, const tt_var *input, tt_size batch,
                 tt_size rows, tt_size cols, tt_function *forward, tt_function *backward,
                 void *context);

/* Memory from the tape, aligned to 64 bytes, contents undefined, good until reset. NULL (and the
 * tape's error set) if there is none, or if the tape already has an error. */
void *tt_tape_alloc(tt_tape *tape, size_t bytes);

/* A tensor in such memory; data is NULL on failure. */
tt_tensor tt_tape_tensor(tt_tape *tape, tt_size batch, tt_size rows, tt_size cols);

/* Sets the tape's error, unless there is one already; format as for printf (of an empty text some
 * other is made). Returns what is no variable, for `return tt_tape_fail(...)`. */
tt_var tt_tape_fail(tt_tape *tape, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* The context of a node that was recorded with this backward function; NULL for any other. */
void *tt_tape_context(const tt_tape *tape, tt_var var, tt_function *backward);

#ifdef __cplusplus
}
#endif

#endif
