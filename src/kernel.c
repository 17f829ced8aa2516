#include "tt/kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)
tt_kernel tt_kernel_here(void) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return TT_KERNEL_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return TT_KERNEL_AVX2;
    return TT_KERNEL_PORTABLE;
}
#else
tt_kernel tt_kernel_here(void) {
    return TT_KERNEL_PORTABLE;
}
#endif

const char *tt_kernel_name(void) {
    static const char *const NAMES[] = {"portable", "avx2", "avx512"};
    return NAMES[tt_kernel_here()];
}
