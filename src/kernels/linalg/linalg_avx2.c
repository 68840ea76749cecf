/* linalg_avx2.c: see linalg_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/linalg/linalg_impl.h"
