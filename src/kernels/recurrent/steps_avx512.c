/* steps_avx512.c: whole recurrences with 16 lanes; see steps_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/recurrent/steps_impl.h"
