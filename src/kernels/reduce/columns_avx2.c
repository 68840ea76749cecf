/* columns_avx2.c: column reductions with 8 lanes a vector; see columns_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/reduce/columns_impl.h"
