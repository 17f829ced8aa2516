/* kernel.h: which instruction set the matrix products use here. A binary built anywhere runs
 * everywhere, and every kernel gives the same bits; only the speed differs.
 */
#ifndef TT_KERNEL_H
#define TT_KERNEL_H

typedef enum tt_kernel { TT_KERNEL_PORTABLE, TT_KERNEL_AVX2, TT_KERNEL_AVX512 } tt_kernel;

/* The best that this processor has, asked at run time. */
tt_kernel tt_kernel_here(void);

/* "portable", "avx2" or "avx512": that one's name, for a run's record. */
const char *tt_kernel_name(void);

#endif
