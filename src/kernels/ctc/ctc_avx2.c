/* ctc_avx2.c: CTC with 8 lanes; see ctc_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/ctc/ctc_impl.h"
