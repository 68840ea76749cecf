/* bwd_weights_avx512.c: the weights' gradient in the Winograd classes for AVX-512 (bwd_weights.h). */
#define WINO_ISA avx512
#include "kernels/conv/winograd/bwd_weights_impl.h"
