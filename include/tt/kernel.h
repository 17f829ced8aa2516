/* kernel.h: which instruction set products, softmax, logarithms and normals use. A binary built
 * anywhere runs everywhere, and every kernel gives the same bits; only the speed differs.
 */
#ifndef TT_KERNEL_H
#define TT_KERNEL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of their speed. */
typedef enum tt_kernel {
    TT_KERNEL_PORTABLE,
    TT_KERNEL_AVX2,   /* with FMA */
    TT_KERNEL_AVX512, /* F, VL and DQ */
    TT_KERNEL_COUNT
} tt_kernel;

/* The environment variable that names one, to compare them. */
#define TT_KERNEL_VARIABLE "TT_KERNEL"

/* Whether this processor executes it. */
bool tt_kernel_runs(tt_kernel kernel);

/* The one in use. At first that is the one which the variable names, or, where it names none that
 * runs, the best that does. */
tt_kernel tt_kernel_here(void);

/* From now on this one, on all threads; false, and nothing changed, if it does not run here. */
bool tt_kernel_use(tt_kernel kernel);

/* "portable", "avx2" or "avx512"; static. */
const char *tt_kernel_name(tt_kernel kernel);

/* The kernel of a name; false, and nothing changed, if there is none. */
bool tt_kernel_find(const char *name, tt_kernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
