/* weights_avx2.c: parameter gradients with 8 lanes; see weights_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/row_norm/weights_impl.h"
