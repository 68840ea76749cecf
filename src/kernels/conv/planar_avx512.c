/* planar_avx512.c: 1×8, 2×8, 3×7 and 4×6 vectors. */
#define VECTORS(channels) ((channels) <= 2 ? 8 : (channels) == 3 ? 7 : 6)
#include "kernels/conv/planar_impl.h"

const iso__planar_tiles iso__planar_tiles_avx512 = PLANAR_TILES;
