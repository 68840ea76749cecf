/* kernels_avx2.c: kernels_impl.h for 8 lanes. */
#define KERNELS_NAME iso__winograd_avx2
#include "kernels/conv/winograd/kernels_impl.h"
