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

struct iso__fft_cuda_kernels {
  void (*kernel)(const float *w, float *u, const iso__fft_cuda_slice *s, cudaStream_t stream);      /* → right rows */
  void (*windows)(const float *image, float *a, const iso__fft_cuda_slice *s, cudaStream_t stream); /* → left rows */
  void (*x)(const float *x, float *b, const iso__fft_cuda_slice *s, cudaStream_t stream);           /* → right rows */
  void (*dy)(const float *dy, float *a, const iso__fft_cuda_slice *s, cudaStream_t stream);         /* → left rows */
  void (*result)(const iso__conv_cuda_slots *m, float *y, const iso__fft_cuda_slice *s,
                 const iso__fft_cuda_epilogue *epilogue, cudaStream_t stream);
  void (*dkernel)(const iso__conv_cuda_slots *m, float *dw, const iso__fft_cuda_slice *s, cudaStream_t stream);
};
#endif
