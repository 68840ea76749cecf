/* softmax_avx2.c: softmax with 8 lanes; see softmax_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/softmax/softmax_impl.h"
