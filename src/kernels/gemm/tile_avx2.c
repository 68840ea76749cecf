/* The product kernels for AVX2 and FMA: tiles of up to 6 × 16. */
#define TILES_NAME iso__tiles_avx2
#include "kernels/gemm/tile_impl.h"
