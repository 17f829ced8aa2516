/* kernels_of.h: the list of what every kernels_NAME.c compiles. */
#ifndef TT_KERNELS_OF_H
#define TT_KERNELS_OF_H

#include "gemm_lanes.h"
#include "kernels.h"
#include "rng_lanes.h"
#include "softmax_lanes.h"
#include "sum_lanes.h"

#define KERNELS                                                                                    \
    {                                                                                              \
        multiply, transpose, softmax, softmax_backward, largest_size, squares,                     \
            squared_differences, log_of, twist, uniforms, normals                                  \
    }

#endif
