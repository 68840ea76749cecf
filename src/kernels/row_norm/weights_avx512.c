/* weights_avx512.c: parameter gradients with 16 lanes; see weights_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/row_norm/weights_impl.h"
