/* loss_avx512.c: cross entropy with 16 lanes; see loss_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/loss/loss_impl.h"
