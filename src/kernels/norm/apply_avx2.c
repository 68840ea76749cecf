/* apply_avx2.c: batch norm forward and input gradient with 8 lanes; see apply_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/norm/apply_impl.h"
