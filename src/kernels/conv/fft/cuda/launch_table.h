/* launch_table.h: the kernels of one class fft.N as functions that launch them; run.cu walks slices and calls these.
 * Pointers to tensors point to the first channel of the slab's first group. */
#ifndef ISO_KERNELS_CONV_FFT_CUDA_LAUNCH_TABLE_H
#define ISO_KERNELS_CONV_FFT_CUDA_LAUNCH_TABLE_H
#include <cuda_runtime.h>
#include "kernels/conv/fft/cuda/cut.h"
#include "kernels/conv/winograd/cuda/product.h"

/* Tiles first … first + n − 1 and groups of a call. */
struct iso__fft_cuda_slice {
  iso__fft_cuda_cut cut;
  int64_t first;
  int n_tiles, n_groups;
};

/* What follows the inverse, at the places of y; NULL or false: nothing. */
struct iso__fft_cuda_epilogue {
  const float *bias, *residual;
  bool relu;
};

/* A factor of the products and where it comes from. */
enum iso__fft_cuda_what {
  ISO__FFT_CUDA_NOTHING,
  ISO__FFT_CUDA_KERNEL,  /* w → u */
  ISO__FFT_CUDA_WINDOWS, /* an image → a */
  ISO__FFT_CUDA_DY,      /* tiles of dy → a */
  ISO__FFT_CUDA_X        /* windows of x → b */
};
struct iso__fft_cuda_factor {
  iso__fft_cuda_what what;
  const float *from;
  float *to;
};

struct iso__fft_cuda_kernels {
  /* KERNEL and WINDOWS, or DY and X; either may be NOTHING. */
  void (*transform)(const iso__fft_cuda_factor *first, const iso__fft_cuda_factor *second, const iso__fft_cuda_slice *s,
                    cudaStream_t stream);
  void (*result)(const iso__conv_cuda_slots *m, float *y, const iso__fft_cuda_slice *s,
                 const iso__fft_cuda_epilogue *epilogue, cudaStream_t stream);
  void (*dkernel)(const iso__conv_cuda_slots *m, float *dw, const iso__fft_cuda_slice *s, cudaStream_t stream);
};
#endif
