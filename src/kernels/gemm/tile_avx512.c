/* The product kernels for AVX-512: tiles of up to 14 × 32. */
#define TILES_NAME iso__tiles_avx512
#include "kernels/gemm/tile_impl.h"
