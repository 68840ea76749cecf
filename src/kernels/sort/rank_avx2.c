/* rank_avx2.c: short rows by ranks with 8 lanes; see rank_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/sort/rank_impl.h"
