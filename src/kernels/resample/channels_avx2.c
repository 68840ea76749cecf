/* channels_avx2.c: interpolation over vectors of channels; see channels_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/resample/channels_impl.h"
