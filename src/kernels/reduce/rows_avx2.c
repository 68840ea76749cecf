/* rows_avx2.c: row reductions with 8 lanes a vector; see rows_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/reduce/rows_impl.h"
