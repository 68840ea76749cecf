/* rows_avx2.c: row normalisation with 8 lanes; see rows_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/row_norm/rows_impl.h"
