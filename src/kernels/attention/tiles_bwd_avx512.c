/* tiles_bwd_avx512.c: attention's gradients with 16 lanes; see tiles_bwd_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/attention/tiles_bwd_impl.h"
