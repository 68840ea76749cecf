/* lines_avx2.c: scans of integers and extrema, compiled for AVX2; see lines_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/scan/lines_impl.h"
