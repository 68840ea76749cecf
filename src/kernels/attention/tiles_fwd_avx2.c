/* tiles_fwd_avx2.c: attention forward with 8 lanes; see tiles_fwd_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/attention/tiles_fwd_impl.h"
