/* kernels_avx512.c: kernels_impl.h for 16 lanes. */
#define KERNELS_NAME iso__winograd_avx512
#include "kernels/conv/winograd/kernels_impl.h"
