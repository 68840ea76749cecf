/* kernels_avx2.c: the kernels of fft.h on eight channels at a time, and the rows' functions. */
#include "kernels/conv/fft/product_impl.h"
#include "kernels/conv/fft/rows_impl.h"
#include "kernels/conv/fft/tiles_impl.h"

const iso__fft_kernels iso__fft_kernels_avx2 = {
    .lanes = LANES, .size = {ISO__FFT_SIZES(TILE_ENTRY)}, .product = product, .accumulate = accumulate};

#define ROW(N) ROW_FUNCTIONS(N, avx2, iso__fft_kernels_avx2)
ISO__FFT_SIZES(ROW)
