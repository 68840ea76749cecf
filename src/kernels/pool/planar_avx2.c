/* planar_avx2.c: pooling of planes of one channel; see planar_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/pool/planar_impl.h"
