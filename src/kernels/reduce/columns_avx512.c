/* columns_avx512.c: column reductions with 16 lanes a vector; see columns_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/reduce/columns_impl.h"
