/* tensor.h: the one kind of array this library knows, a stack of matrices.
 *
 * Attention needs nothing else: a batch of B sequences with T tokens of width d is [B, T, d], a
 * weight matrix is [1, rows, cols], a loss is [1, 1, 1]. Elements are float64, row-major, without
 * gaps: element (b, i, j) is data[(b * rows + i) * cols + j].
 */
#ifndef TT_TENSOR_H
#define TT_TENSOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every size, index and count. Signed, so that differences and downward loops are plain. */
typedef ptrdiff_t tt_size;

/* A view: copying the struct does not copy the elements. */
typedef struct tt_tensor {
    tt_size batch, rows, cols;
    double *data;
} tt_tensor;

/* batch * rows * cols; -1 if a size is negative or the elements would not fit in memory's address
 * range, with a size of 0 taken as 1: without elements, too, a shape must be one that could be. */
tt_size tt_tensor_count(tt_tensor t);

/* A view of the caller's memory, which must hold batch * rows * cols doubles. */
tt_tensor tt_tensor_view(double *data, tt_size batch, tt_size rows, tt_size cols);

/* Matrix b of the stack, as a view [1, rows, cols]; 0 <= b < batch. */
tt_tensor tt_tensor_matrix(tt_tensor t, tt_size b);

/* A new tensor of zeros, owned by the caller, who frees it with tt_tensor_free. On a negative or
 * too large size, or without memory, data is NULL. A size of 0 is allowed (data is not NULL). */
tt_tensor tt_tensor_new(tt_size batch, tt_size rows, tt_size cols);

/* Frees what tt_tensor_new gave and clears *t; does nothing where data is NULL. */
void tt_tensor_free(tt_tensor *t);

#ifdef __cplusplus
}
#endif

#endif
