/* whole_avx512.c: integers and truths, compiled for AVX-512; see whole_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/reduce/whole_impl.h"
