/* sorted_avx512.c: scatters by sorting, with 16 lanes; see sorted_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/scatter/sorted_impl.h"
