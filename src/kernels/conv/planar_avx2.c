/* planar_avx2.c: 1×8, 2×6, 3×4 and 4×3 vectors: twelve sums and their operands in sixteen registers. */
#define VECTORS(channels) ((channels) == 1 ? 8 : (channels) == 2 ? 6 : (channels) == 3 ? 4 : 3)
#include "kernels/conv/planar_impl.h"

const iso__planar_tiles iso__planar_tiles_avx2 = PLANAR_TILES;
