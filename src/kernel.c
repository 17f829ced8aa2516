#include "tt/kernel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

static const char *const NAMES[TT_KERNEL_COUNT] = {"portable", "avx2", "avx512"};

#if defined(__x86_64__) && defined(__GNUC__)
static const tt_kernels *const KERNELS[TT_KERNEL_COUNT] = {&tt_kernels_portable, &tt_kernels_avx2,
                                                           &tt_kernels_avx512};

bool tt_kernel_runs(tt_kernel kernel) {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq");
    return kernel == TT_KERNEL_PORTABLE || (kernel == TT_KERNEL_AVX2 && avx2) ||
           (kernel == TT_KERNEL_AVX512 && avx2 && avx512);
}
#else
static const tt_kernels *const KERNELS[TT_KERNEL_COUNT] = {&tt_kernels_portable};

bool tt_kernel_runs(tt_kernel kernel) {
    return kernel == TT_KERNEL_PORTABLE;
}
#endif

bool tt_kernel_find(const char *name, tt_kernel *kernel) {
    for (int i = 0; i < TT_KERNEL_COUNT; i++)
        if (strcmp(NAMES[i], name) == 0) {
            *kernel = (tt_kernel)i;
            return true;
        }
    return false;
}

static tt_kernel choose(void) {
    const char *wanted = getenv(TT_KERNEL_VARIABLE);
    tt_kernel kernel;
    if (wanted && tt_kernel_find(wanted, &kernel) && tt_kernel_runs(kernel)) return kernel;
    kernel = TT_KERNEL_COUNT - 1;
    while (!tt_kernel_runs(kernel)) kernel--;
    return kernel;
}

/* 1 + the kernel; 0 until someone asks. All who ask first find the same. */
static atomic_int in_use;

tt_kernel tt_kernel_here(void) {
    int kernel = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (kernel == 0) {
        kernel = 1 + (int)choose();
        atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
    }
    return (tt_kernel)(kernel - 1);
}

bool tt_kernel_use(tt_kernel kernel) {
    if (!tt_kernel_runs(kernel)) return false;
    atomic_store_explicit(&in_use, 1 + (int)kernel, memory_order_relaxed);
    return true;
}

const tt_kernels *tt_kernels_here(void) {
    return KERNELS[tt_kernel_here()];
}

const char *tt_kernel_name(tt_kernel kernel) {
    return NAMES[kernel];
}
