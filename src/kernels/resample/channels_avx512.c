/* channels_avx512.c: interpolation over vectors of channels; see channels_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/resample/channels_impl.h"
