/* tiles_fwd_avx512.c: attention forward with 16 lanes; see tiles_fwd_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/attention/tiles_fwd_impl.h"
