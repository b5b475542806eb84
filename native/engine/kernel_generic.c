/* Kernels for any processor: vectors of four floats, which every 64-bit processor has. */
#define ISA
#define LANES 4
#define ISA_TITLE "generic"
#define NAME(x) x##_generic
/* Rows of a tile whose sums fit the registers: 32 of them on 64-bit Arm, 16 of four floats elsewhere. */
#if defined(__aarch64__)
#define TILE_ROWS 6
#else
#define TILE_ROWS 2
#endif
#include "kernel.h"
