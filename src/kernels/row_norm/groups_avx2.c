/* groups_avx2.c: group norm of images with 8 lanes; see groups_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/row_norm/groups_impl.h"
