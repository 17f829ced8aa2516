/* gemm.c: how a product is cut into panels and tiles.
 *
 *        16 columns           B is read in panels of 256 x 16. A panel that lies ready in
 *      +-----------+          memory (B not transposed, 16 full columns) is used in place for few
 *  256 |  B panel  |          rows of A; otherwise it is copied, transposed and filled up with
 *      +-----------+          zeros, into a buffer on the stack, once for all rows of C.
 *   rows of A  x  panel -> accumulators in registers (gemm_lanes.h) -> C
 *
 * Between two panels of the same columns the accumulators rest in C: storing a double and loading
 * it again does not round, so the chain over k is unbroken.
 */
#include "gemm.h"

#include <string.h>

#include "kernels.h"

enum { NR = TT_PANEL_COLS, KC = TT_PANEL_ROWS };

/* From so many rows of A on a panel is copied even where it lies ready: its rows are n apart, and
 * where n is a power of two they share a few lines of the cache and push each other out. */
enum { COPIED = 32 };

/* panel[p][j] = B(p0 + p, j0 + j), zero from column `cols` up. */
static void copy_panel(tt_gemm_form form, tt_size n, tt_size k, const double *b, tt_size p0,
                       tt_size kc, tt_size j0, int cols, double *panel) {
    const double *from = b + p0 * n + j0;
    if (form == TT_GEMM_NT) {
        tt_kernels_here()->transpose(cols, kc, b + j0 * k + p0, k, panel);
        return;
    }
    if (cols < NR) memset(panel, 0, (size_t)(kc * NR) * sizeof *panel);
    for (tt_size p = 0; p < kc; p++) {
        if (cols == NR) /* a size that the compiler knows */
            memcpy(panel + p * NR, from + p * n, NR * sizeof *panel);
        else
            memcpy(panel + p * NR, from + p * n, (size_t)cols * sizeof *panel);
    }
}

void tt_gemm(tt_gemm_form form, tt_size m, tt_size n, tt_size k, const double *a, const double *b,
             double *c, bool accumulate) {
    double buffer[KC * NR];
    const tt_kernels *kernels = tt_kernels_here();
    if (k == 0 && !accumulate) memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (tt_size j0 = 0; j0 < n; j0 += NR) {
        int cols = n - j0 < NR ? (int)(n - j0) : NR;
        for (tt_size p0 = 0; p0 < k; p0 += KC) {
            tt_size kc = k - p0 < KC ? k - p0 : KC;
            tt_strided at = {a + p0, k, 1};
            if (form == TT_GEMM_TN) at = (tt_strided){a + p0 * m, 1, m};
            const double *panel = buffer;
            tt_size panel_row = NR;
            if (form != TT_GEMM_NT && cols == NR && m < COPIED) {
                panel = b + p0 * n + j0;
                panel_row = n;
            } else {
                copy_panel(form, n, k, b, p0, kc, j0, cols, buffer);
            }
            kernels->multiply(m, kc, at, panel, panel_row, c + j0, n, cols, accumulate || p0 > 0);
        }
    }
}
