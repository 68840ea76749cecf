/* tiles_bwd_avx2.c: attention's gradients with 8 lanes; see tiles_bwd_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/attention/tiles_bwd_impl.h"
