/* whole_avx2.c: integers and truths, compiled for AVX2; see whole_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/reduce/whole_impl.h"
