/* softmax_avx512.c: softmax with 16 lanes; see softmax_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/softmax/softmax_impl.h"
