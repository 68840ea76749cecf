/* panels_avx512.c: scans in panels, compiled for AVX-512; see panels_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/scan/panels_impl.h"
