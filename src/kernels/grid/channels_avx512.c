/* channels_avx512.c: sampling at a grid over vectors of channels; see channels_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/grid/channels_impl.h"
