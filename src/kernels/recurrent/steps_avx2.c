/* steps_avx2.c: whole recurrences with 8 lanes; see steps_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/recurrent/steps_impl.h"
