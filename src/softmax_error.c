/* softmax_error.c: one entry of the batch at a time, which stays in the cache meanwhile. */
#include "tt/softmax_error.h"

#include "gemm.h"
#include "kernels.h"
#include "softmax.h"

tt_size tt_softmax_error_scratch(tt_tensor z, tt_tensor v) {
    return z.rows * (z.cols + v.cols);
}

double tt_softmax_error(tt_tensor z, double factor, tt_tensor v, tt_tensor y, double *scratch) {
    const tt_size count = tt_tensor_count(y);
    if (count == 0) return 0; /* however large the batch */
    double *w = scratch, *o = scratch + z.rows * z.cols, sum = 0;
    for (tt_size b = 0; b < z.batch; b++) {
        const double *logits = tt_tensor_matrix(z, b).data;
        for (tt_size i = 0; i < z.rows * z.cols; i++) w[i] = factor * logits[i];
        tt_softmax_rows(w, NULL, z.rows, z.cols, w);
        tt_gemm(TT_GEMM_NN, z.rows, v.cols, z.cols, w, tt_tensor_matrix(v, b).data, o, false);
        sum = tt_kernels_here()->squared_differences(o, tt_tensor_matrix(y, b).data,
                                                     z.rows * v.cols, sum);
    }
    return sum / (double)count;
}
