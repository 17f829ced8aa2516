/* kernels.h: the loops in which nearly all time goes, inside the library only, once for each
 * instruction set of tt/kernel.h. kernels_NAME.c compile the same text (*_lanes.h), each for its
 * own, so every one gives the same bits.
 */
#ifndef TT_KERNELS_H
#define TT_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "tt/tensor.h"

/* Element (i, p) is data[i * row + p * col]. */
typedef struct tt_strided {
    const double *data;
    tt_size row, col;
} tt_strided;

/* The width of a panel of B, and the most rows of one. */
enum { TT_PANEL_COLS = 16, TT_PANEL_ROWS = 256 };

typedef struct tt_kernels {
    /* C[i][j] = sum_p A[i][p] panel[p][j] for m rows and cols <= TT_PANEL_COLS columns of C, as one
     * chain of fused multiply-adds over p that starts from 0, or from C where `load` is true. The
     * panel has kc <= TT_PANEL_ROWS rows of TT_PANEL_COLS readable entries, panel_row apart. */
    void (*multiply)(tt_size m, tt_size kc, tt_strided a, const double *panel, tt_size panel_row,
                     double *c, tt_size c_row, int cols, bool load);
    /* panel[c][r] = from[r * from_row + c] for c < cols; 0 for r from `rows` up. */
    void (*transpose)(tt_size rows, tt_size cols, const double *from, tt_size from_row,
                      double *panel);
    /* Rows of softmax and the backward of one, nothing masked (softmax.h). w may be z, dz may be
     * dw. */
    void (*softmax)(const double *z, tt_size rows, tt_size n, double *w);
    void (*softmax_backward)(const double *w, const double *dw, tt_size n, double *dz);
    /* The largest |x_i|, 0 if there is none; NaN if one is. */
    double (*largest_size)(const double *x, tt_size n);
    /* 0 and the (x_i unit)^2, a sum >= 0 and the (x_i - y_i)^2, added one after the other. */
    double (*squares)(const double *x, double unit, tt_size n);
    double (*squared_differences)(const double *x, const double *y, tt_size n, double sum);
    /* y_j = tt_log(x_j). */
    void (*log)(const double *x, tt_size n, double *y);
    /* The state of MT19937 becomes that of its next 624 words. */
    void (*twist)(uint32_t *state);
    /* Uniforms in [0, 1) of 53 bits, of two words of that state each; n is a multiple of eight. */
    void (*uniforms)(const uint32_t *state, tt_size n, double *x);
    /* Blocks of sixteen uniforms in [0, 1) to sixteen standard normals each (rng_lanes.h). */
    void (*normals)(double *x, tt_size blocks);
} tt_kernels;

extern const tt_kernels tt_kernels_portable;
#if defined(__x86_64__) && defined(__GNUC__)
extern const tt_kernels tt_kernels_avx2, tt_kernels_avx512;
#endif

/* Those of tt_kernel_here(). */
const tt_kernels *tt_kernels_here(void);

#endif
