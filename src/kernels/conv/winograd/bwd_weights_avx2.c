/* bwd_weights_avx2.c: the weights' gradient in the Winograd classes for AVX2 and FMA (bwd_weights.h). */
#define WINO_ISA avx2
#include "kernels/conv/winograd/bwd_weights_impl.h"
