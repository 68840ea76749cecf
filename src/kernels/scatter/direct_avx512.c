/* direct_avx512.c: scatters without sorting, with 16 lanes; see direct_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/scatter/direct_impl.h"
