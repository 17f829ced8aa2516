/* kernel.h: which instruction set the matrix products use here. For a run's record only: every one
 * gives the same bits.
 */
#ifndef TT_KERNEL_H
#define TT_KERNEL_H

/* "avx512", "avx2" or "portable". */
const char *tt_kernel_name(void);

#endif
