/* channels_avx2.c: sampling at a grid over vectors of channels; see channels_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/grid/channels_impl.h"
