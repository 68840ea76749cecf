/* lines_avx512.c: scans of integers and extrema, compiled for AVX-512; see lines_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/scan/lines_impl.h"
