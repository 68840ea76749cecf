/* gradients_avx512.c: batch norm's parameter gradients with 16 lanes; see gradients_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/norm/gradients_impl.h"
