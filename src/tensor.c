/* tensor.c: the only arithmetic here is the overflow check. */
#include "tt/tensor.h"

#include <stdint.h>
#include <stdlib.h>

/* A size of 0 counts as 1 where it is asked what fits: no product of some of them overflows. */
tt_size tt_tensor_count(tt_tensor t) {
    const tt_size most = PTRDIFF_MAX / (tt_size)sizeof(double);
    if (t.batch < 0 || t.rows < 0 || t.cols < 0) return -1;
    const tt_size batch = t.batch ? t.batch : 1, rows = t.rows ? t.rows : 1;
    if (rows > most / batch || t.cols > most / (batch * rows)) return -1;
    return t.batch * t.rows * t.cols;
}

tt_tensor tt_tensor_view(double *data, tt_size batch, tt_size rows, tt_size cols) {
    return (tt_tensor){batch, rows, cols, data};
}

tt_tensor tt_tensor_matrix(tt_tensor t, tt_size b) {
    return tt_tensor_view(t.data + b * t.rows * t.cols, 1, t.rows, t.cols);
}

tt_tensor tt_tensor_new(tt_size batch, tt_size rows, tt_size cols) {
    tt_tensor t = {batch, rows, cols, NULL};
    tt_size count = tt_tensor_count(t);
    if (count < 0) return t;
    t.data = calloc(count ? (size_t)count : 1, sizeof(double));
    return t;
}

void tt_tensor_free(tt_tensor *t) {
    free(t->data);
    *t = (tt_tensor){0, 0, 0, NULL};
}
