/* align_avx512.c: roi_align with 16 lanes; see align_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/roi/align_impl.h"
