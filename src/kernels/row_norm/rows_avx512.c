/* rows_avx512.c: row normalisation with 16 lanes; see rows_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/row_norm/rows_impl.h"
