/* direct_avx2.c: scatters without sorting, with 8 lanes; see direct_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/scatter/direct_impl.h"
