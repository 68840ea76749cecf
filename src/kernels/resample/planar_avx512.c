/* planar_avx512.c: interpolation of planes of one channel; see planar_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/resample/planar_impl.h"
