/* sorted_avx2.c: scatters by sorting, with 8 lanes; see sorted_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/scatter/sorted_impl.h"
