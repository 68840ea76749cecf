/* rows_avx512.c: row reductions with 16 lanes a vector; see rows_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/reduce/rows_impl.h"
