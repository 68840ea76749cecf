/* kernels_avx512.c: the kernels of fft.h on sixteen channels at a time, and the rows' functions. */
#include "kernels/conv/fft/product_impl.h"
#include "kernels/conv/fft/rows_impl.h"
#include "kernels/conv/fft/tiles_impl.h"

const iso__fft_kernels iso__fft_kernels_avx512 = {
    .lanes = LANES, .size = {ISO__FFT_SIZES(TILE_ENTRY)}, .product = product, .accumulate = accumulate};

#define ROW(N) ROW_FUNCTIONS(N, avx512, iso__fft_kernels_avx512)
ISO__FFT_SIZES(ROW)
