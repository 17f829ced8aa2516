/* gemm_lanes.h: the register tile of a matrix product, in vectors: TILE_ROWS x 2 vectors of C,
 * which stay in registers while p goes down the panel. Every element is one chain of fused
 * multiply-adds over p, so the shape of the tile changes no bit.
 */
#ifndef TT_GEMM_LANES_H
#define TT_GEMM_LANES_H

#include <math.h>

#include "fma_lanes.h"
#include "kernels.h"

/* Accumulators, the two vectors of the panel and one of A fit the registers: 32 with AVX-512, 16
 * elsewhere. */
enum { TILE_ROWS = TT_WIDTH == 8 ? 8 : TT_WIDTH == 4 ? 6 : 4, TILE_COLS = 2 * TT_WIDTH };

LANES_INLINE void tile(int rows, tt_size kc, tt_strided a, const double *panel, tt_size panel_row,
                       double *c, tt_size c_row, bool load) {
    lanes sum[TILE_ROWS][2];
    LANES_UNROLL
    for (int i = 0; i < rows; i++) {
        sum[i][0] = load ? lanes_load(c + i * c_row) : lanes_all(0);
        sum[i][1] = load ? lanes_load(c + i * c_row + TT_WIDTH) : lanes_all(0);
    }
    for (tt_size p = 0; p < kc; p++) {
        const lanes left = lanes_load(panel + p * panel_row);
        const lanes right = lanes_load(panel + p * panel_row + TT_WIDTH);
        LANES_UNROLL
        for (int i = 0; i < rows; i++) {
            const lanes x = lanes_all(a.data[i * a.row + p * a.col]);
            sum[i][0] = fma_lanes(x, left, sum[i][0]);
            sum[i][1] = fma_lanes(x, right, sum[i][1]);
        }
    }
    LANES_UNROLL
    for (int i = 0; i < rows; i++) {
        lanes_store(c + i * c_row, sum[i][0]);
        lanes_store(c + i * c_row + TT_WIDTH, sum[i][1]);
    }
}

/* `rows` rows and all columns of the panel; what lies beyond the last column of C is computed
 * beside it and left. */
LANES_INLINE void row_block(int rows, tt_size kc, tt_strided a, const double *panel,
                            tt_size panel_row, double *c, tt_size c_row, int cols, bool load) {
    double edge[TILE_ROWS * TILE_COLS];
    for (int j = 0; j < cols; j += TILE_COLS) {
        if (j + TILE_COLS <= cols) {
            tile(rows, kc, a, panel + j, panel_row, c + j, c_row, load);
            continue;
        }
        for (int i = 0; i < rows; i++)
            for (int l = 0; l < TILE_COLS; l++)
                edge[i * TILE_COLS + l] = load && j + l < cols ? c[i * c_row + j + l] : 0;
        tile(rows, kc, a, panel + j, panel_row, edge, TILE_COLS, load);
        for (int i = 0; i < rows; i++)
            for (int l = 0; j + l < cols; l++) c[i * c_row + j + l] = edge[i * TILE_COLS + l];
    }
}

/* A square of TT_WIDTH rows of which `rows` are there, the others being 0: where vectors i and
 * i + half are interleaved as often as the width can be halved, rows become columns. */
LANES_INLINE void transpose_square(tt_size rows, const double *from, tt_size from_row, double *to) {
    enum { HALF = TT_WIDTH / 2 };
    lanes x[TT_WIDTH], y[TT_WIDTH];
    LANES_UNROLL
    for (int i = 0; i < TT_WIDTH; i++)
        x[i] = i < rows ? lanes_load(from + i * from_row) : lanes_all(0);
    LANES_UNROLL
    for (int round = 1; round < TT_WIDTH; round *= 2) {
        LANES_UNROLL
        for (int i = 0; i < HALF; i++) {
            y[2 * i] = LANES_LOWER(x[i], x[i + HALF]);
            y[2 * i + 1] = LANES_UPPER(x[i], x[i + HALF]);
        }
        LANES_UNROLL
        for (int i = 0; i < TT_WIDTH; i++) x[i] = y[i];
    }
    LANES_UNROLL
    for (int i = 0; i < TT_WIDTH; i++) lanes_store(to + i * TT_PANEL_COLS, x[i]);
}

static void transpose(tt_size rows, tt_size cols, const double *from, tt_size from_row,
                      double *panel) {
    for (tt_size r = 0; r < TT_PANEL_COLS; r += TT_WIDTH) {
        const tt_size here = rows - r;
        tt_size c = 0;
        if (here >= TT_WIDTH)
            for (; c + TT_WIDTH <= cols; c += TT_WIDTH)
                transpose_square(TT_WIDTH, from + r * from_row + c, from_row,
                                 panel + c * TT_PANEL_COLS + r);
        for (; c + TT_WIDTH <= cols; c += TT_WIDTH)
            transpose_square(here, from + r * from_row + c, from_row,
                             panel + c * TT_PANEL_COLS + r);
        for (; c < cols; c++)
            for (int i = 0; i < TT_WIDTH; i++)
                panel[c * TT_PANEL_COLS + r + i] = i < here ? from[(r + i) * from_row + c] : 0;
    }
}

/* The product by the C library's fma, for numbers that fma_lanes is not exact for. */
static void by_library(tt_size m, tt_size kc, tt_strided a, const double *panel, tt_size panel_row,
                       double *c, tt_size c_row, int cols, bool load) {
    for (tt_size i = 0; i < m; i++)
        for (int j = 0; j < cols; j++) {
            double sum = load ? c[i * c_row + j] : 0;
            for (tt_size p = 0; p < kc; p++)
                sum = fma(a.data[i * a.row + p * a.col], panel[p * panel_row + j], sum);
            c[i * c_row + j] = sum;
        }
}

static bool fits(tt_size m, tt_size kc, tt_strided a, const double *panel, tt_size panel_row,
                 const double *c, tt_size c_row, int cols, bool load) {
    fma_range of_a = {INFINITY, 0}, of_b = {INFINITY, 0}, of_c = {INFINITY, 0};
    if (FMA_IS_NATIVE) return true;
    for (tt_size p = 0; p < kc; p++) {
        for (tt_size i = 0; i < m; i++) fma_range_add(&of_a, a.data[i * a.row + p * a.col]);
        for (int j = 0; j < cols; j++) fma_range_add(&of_b, panel[p * panel_row + j]);
    }
    for (tt_size i = 0; load && i < m; i++)
        for (int j = 0; j < cols; j++) fma_range_add(&of_c, c[i * c_row + j]);
    return fma_fits(of_a, of_b, of_c, kc);
}

static void multiply(tt_size m, tt_size kc, tt_strided a, const double *panel, tt_size panel_row,
                     double *c, tt_size c_row, int cols, bool load) {
    tt_size i = 0;
    if (!fits(m, kc, a, panel, panel_row, c, c_row, cols, load)) {
        by_library(m, kc, a, panel, panel_row, c, c_row, cols, load);
        return;
    }
    for (; i + TILE_ROWS <= m; i += TILE_ROWS, a.data += TILE_ROWS * a.row)
        row_block(TILE_ROWS, kc, a, panel, panel_row, c + i * c_row, c_row, cols, load);
    for (; i + 4 <= m; i += 4, a.data += 4 * a.row)
        row_block(4, kc, a, panel, panel_row, c + i * c_row, c_row, cols, load);
    for (; i + 2 <= m; i += 2, a.data += 2 * a.row)
        row_block(2, kc, a, panel, panel_row, c + i * c_row, c_row, cols, load);
    if (i < m) row_block(1, kc, a, panel, panel_row, c + i * c_row, c_row, cols, load);
}

#endif
