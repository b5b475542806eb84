/* Kernels for any processor: the same source as every other build, with no instruction set assumed. */
#define ISA
#define ISA_TITLE "generic"
#define NAME(x) x##_generic
#include "kernel.h"
