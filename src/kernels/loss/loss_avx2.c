/* loss_avx2.c: cross entropy with 8 lanes; see loss_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/loss/loss_impl.h"
