/* pool_avx2.c: pooling with 8 lanes of channels; see pool_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/pool/pool_impl.h"
