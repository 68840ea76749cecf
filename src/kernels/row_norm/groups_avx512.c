/* groups_avx512.c: group norm of images with 16 lanes; see groups_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/row_norm/groups_impl.h"
