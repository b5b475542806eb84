/* Kernels for x86-64 with AVX2 and FMA; called only after the processor was asked for both. */
#if defined(__x86_64__)
#define ISA __attribute__((target("avx2,fma")))
#define ISA_TITLE "avx2"
#define NAME(x) x##_avx2
#define LANES 8
#define TILE_ROWS 6
#include "kernel.h"
#else
typedef int kernel_avx2_is_for_x86_64;
#endif
