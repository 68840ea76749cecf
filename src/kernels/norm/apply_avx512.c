/* apply_avx512.c: batch norm forward and input gradient with 16 lanes; see apply_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/norm/apply_impl.h"
