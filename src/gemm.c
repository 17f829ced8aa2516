/* gemm.c: a register tile of MR x NR elements, walked over C.
 *
 *        NR columns           B is read in panels of KC x NR. A panel that lies ready in
 *      +-----------+          memory (B not transposed, NR full columns) is used in place;
 *   KC |  B panel  |          otherwise it is copied, transposed and filled up with zeros, into
 *      +-----------+          a buffer on the stack, once for all rows of C.
 *   MR rows of A  x  panel -> MR x NR accumulators in registers -> C
 *
 * Between two panels of the same columns the accumulators rest in C: storing a double and loading
 * it again does not round, so the chain over k is unbroken.
 */
#include "gemm.h"

#include <string.h>

#include "tt/kernel.h"

enum { MR = 8, NR = 16, KC = 256 };

typedef struct strided {
    const double *data;
    tt_size row, col; /* element (i, p) is data[i * row + p * col] */
} strided;

/* rows x NR elements of C from rows of A and one panel; the loops over j are what the compiler
 * vectorises. Only the first `cols` columns are loaded and stored. */
static inline __attribute__((always_inline)) void tile(int rows, tt_size kc, strided a,
                                                       const double *panel, tt_size panel_row,
                                                       double *c, tt_size c_row, int cols,
                                                       bool load) {
    double acc[MR][NR];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < NR; j++) acc[i][j] = load && j < cols ? c[i * c_row + j] : 0.0;
    for (tt_size p = 0; p < kc; p++)
        for (int i = 0; i < rows; i++) {
            double x = a.data[i * a.row + p * a.col];
            for (int j = 0; j < NR; j++)
                acc[i][j] = __builtin_fma(x, panel[p * panel_row + j], acc[i][j]);
        }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) c[i * c_row + j] = acc[i][j];
}

/* All rows of C for one panel. */
static inline __attribute__((always_inline)) void column_block(tt_size m, tt_size kc, strided a,
                                                               const double *panel,
                                                               tt_size panel_row, double *c,
                                                               tt_size c_row, int cols, bool load) {
    tt_size i = 0;
    for (; i + MR <= m; i += MR) {
        strided at = {a.data + i * a.row, a.row, a.col};
        if (cols == NR)
            tile(MR, kc, at, panel, panel_row, c + i * c_row, c_row, NR, load);
        else
            tile(MR, kc, at, panel, panel_row, c + i * c_row, c_row, cols, load);
    }
    for (; i < m; i++) {
        strided at = {a.data + i * a.row, a.row, a.col};
        tile(1, kc, at, panel, panel_row, c + i * c_row, c_row, cols, load);
    }
}

typedef void column_block_fn(tt_size m, tt_size kc, strided a, const double *panel,
                             tt_size panel_row, double *c, tt_size c_row, int cols, bool load);

static void column_block_portable(tt_size m, tt_size kc, strided a, const double *panel,
                                  tt_size panel_row, double *c, tt_size c_row, int cols,
                                  bool load) {
    column_block(m, kc, a, panel, panel_row, c, c_row, cols, load);
}

/* The same source compiled for newer x86 processors: fused multiply-add is exact on all of them. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2,fma"))) static void
column_block_avx2(tt_size m, tt_size kc, strided a, const double *panel, tt_size panel_row,
                  double *c, tt_size c_row, int cols, bool load) {
    column_block(m, kc, a, panel, panel_row, c, c_row, cols, load);
}

__attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma"))) static void
column_block_avx512(tt_size m, tt_size kc, strided a, const double *panel, tt_size panel_row,
                    double *c, tt_size c_row, int cols, bool load) {
    column_block(m, kc, a, panel, panel_row, c, c_row, cols, load);
}

static column_block_fn *pick(void) {
    const tt_kernel here = tt_kernel_here();
    if (here == TT_KERNEL_AVX512) return column_block_avx512;
    return here == TT_KERNEL_AVX2 ? column_block_avx2 : column_block_portable;
}
#else
static column_block_fn *pick(void) {
    return column_block_portable;
}
#endif

/* panel[p][j] = B(p0 + p, j0 + j), zero from column `cols` up. */
static void copy_panel(tt_gemm_form form, tt_size n, tt_size k, const double *b, tt_size p0,
                       tt_size kc, tt_size j0, int cols, double *panel) {
    for (tt_size p = 0; p < kc; p++)
        for (int j = 0; j < NR; j++) {
            double x = 0;
            if (j < cols)
                x = form == TT_GEMM_NT ? b[(j0 + j) * k + p0 + p] : b[(p0 + p) * n + j0 + j];
            panel[p * NR + j] = x;
        }
}

void tt_gemm(tt_gemm_form form, tt_size m, tt_size n, tt_size k, const double *a, const double *b,
             double *c, bool accumulate) {
    double buffer[KC * NR];
    column_block_fn *multiply = pick();
    if (k == 0 && !accumulate) memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (tt_size j0 = 0; j0 < n; j0 += NR) {
        int cols = n - j0 < NR ? (int)(n - j0) : NR;
        for (tt_size p0 = 0; p0 < k; p0 += KC) {
            tt_size kc = k - p0 < KC ? k - p0 : KC;
            strided at = {a + p0, k, 1};
            if (form == TT_GEMM_TN) at = (strided){a + p0 * m, 1, m};
            const double *panel = buffer;
            tt_size panel_row = NR;
            if (form != TT_GEMM_NT && cols == NR) {
                panel = b + p0 * n + j0;
                panel_row = n;
            } else {
                copy_panel(form, n, k, b, p0, kc, j0, cols, buffer);
            }
            multiply(m, kc, at, panel, panel_row, c + j0, n, cols, accumulate || p0 > 0);
        }
    }
}
