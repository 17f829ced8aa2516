/* kernels_avx512.c: the kernels for x86 processors with avx512f, avx512vl, avx512dq, avx2, fma. */
#include "kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tt/elementary.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma"))),        \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq,avx2,fma")
#endif

#define TT_WIDTH 8
#include "kernels_of.h"

const tt_kernels tt_kernels_avx512 = KERNELS;

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
