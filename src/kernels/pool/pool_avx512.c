/* pool_avx512.c: pooling with 16 lanes of channels; see pool_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/pool/pool_impl.h"
