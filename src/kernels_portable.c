/* kernels_portable.c: the kernels as any processor that the compiler knows executes them: vectors
 * of two, which are SSE2, NEON or the like, or else two numbers one after the other.
 */
#define TT_WIDTH 2
#include "kernels_of.h"

const tt_kernels tt_kernels_portable = KERNELS;
