/* segment_avx512.c: segments with 16 lanes; see segment_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/scatter/segment_impl.h"
