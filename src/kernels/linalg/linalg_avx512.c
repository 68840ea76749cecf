/* linalg_avx512.c: see linalg_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/linalg/linalg_impl.h"
