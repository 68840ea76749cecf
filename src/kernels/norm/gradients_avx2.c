/* gradients_avx2.c: batch norm's parameter gradients with 8 lanes; see gradients_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/norm/gradients_impl.h"
