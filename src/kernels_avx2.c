/* kernels_avx2.c: the kernels for x86 processors with avx2, fma. */
#include "kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tt/elementary.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define TT_WIDTH 4
#include "kernels_of.h"

const tt_kernels tt_kernels_avx2 = KERNELS;

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
