/* launch_table.h: the kernels of one Winograd class as functions that launch them; run.cu walks slices and calls these.
 *
 * `vec`: every pointer and channel count is a multiple of four floats. Classes of tiles larger than 6 × 6 have no
 * kernels on float4, whose tiles do not fit registers, and ignore it. */
#ifndef ISO_KERNELS_CONV_WINOGRAD_CUDA_LAUNCH_TABLE_H
#define ISO_KERNELS_CONV_WINOGRAD_CUDA_LAUNCH_TABLE_H
#include <cuda_runtime.h>
#include "kernels/conv/winograd/cuda/cut.h"
#include "kernels/conv/winograd/cuda/product.h"

/* Tiles of one image tensor, some of them: tile i is number `first` + i from sample `sample` on. The tensors' pointers
 * point to the first channel of the first group of the slab. */
struct iso__wino_cuda_slice {
  iso__wino_cuda_image image;
  int tiles_h, tiles_w;
  int64_t sample;
  int first, n_tiles, tiles_pad;
  int channels, channels_pad; /* of a group */
  int n_groups;
};

/* What the output transform adds, at the places of y; NULL or false: nothing. */
struct iso__wino_cuda_epilogue {
  const float *bias, *residual;
  bool relu;
};

struct iso__wino_cuda_images {
  void (*kernel)(const float *w, float *u, const iso__wino_cuda_cut *cut, cudaStream_t stream);
  void (*source)(const float *x, float *v, const iso__wino_cuda_slice *slice, bool vec, cudaStream_t stream);
  void (*result)(const iso__conv_cuda_slots *m, float *y, const iso__wino_cuda_slice *slice,
                 const iso__wino_cuda_epilogue *epilogue, bool vec, cudaStream_t stream);
};
struct iso__wino_cuda_operand {
  const float *from;
  float *to;
  iso__wino_cuda_slice slice;
};
struct iso__wino_cuda_weights {
  void (*operands)(const iso__wino_cuda_operand *x, const iso__wino_cuda_operand *dy, bool vec, cudaStream_t stream);
  /* Sums → dw of n_groups groups of k and c channels. */
  void (*dkernel)(const iso__conv_cuda_slots *sums, float *dw, const iso__wino_cuda_cut *cut, int n_groups, bool vec,
                  cudaStream_t stream);
};
#endif
