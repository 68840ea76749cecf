/* panels_avx2.c: scans in panels, compiled for AVX2; see panels_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/scan/panels_impl.h"
