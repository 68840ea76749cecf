/* segment_avx2.c: segments with 8 lanes; see segment_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/scatter/segment_impl.h"
