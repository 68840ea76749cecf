/* ctc_avx512.c: CTC with 16 lanes; see ctc_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/ctc/ctc_impl.h"
