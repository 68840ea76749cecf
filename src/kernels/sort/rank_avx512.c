/* rank_avx512.c: short rows by ranks with 16 lanes; see rank_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/sort/rank_impl.h"
