/* align_avx2.c: roi_align with 8 lanes; see align_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/roi/align_impl.h"
