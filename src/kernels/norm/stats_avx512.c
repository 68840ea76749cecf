/* stats_avx512.c: batch-norm statistics with 16 lanes; see stats_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/norm/stats_impl.h"
