/* stats_avx2.c: batch-norm statistics with 8 lanes; see stats_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/norm/stats_impl.h"
