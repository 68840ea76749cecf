/* ops/pool.h: pooling and resampling. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_POOL_H
#define ISOBIT_OPS_POOL_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- pooling of images (N,C,H,W) → (N,C,P,Q), channels-last; kernel 0 is an error, stride 0: the kernel ---- */
typedef struct iso_pool2d_options {
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w; /* padding at most half the kernel */
  bool count_padding;                                           /* average only: divide by the whole kernel */
} iso_pool2d_options;
/* A NaN wins, else the largest; ties go to the lowest (row, column), and so does the gradient. Not differentiable twice
 * with respect to the choice. */
ISO_API iso_tensor *iso_max_pool2d(iso_context *ctx, const iso_tensor *x, const iso_pool2d_options *options);
ISO_API iso_tensor *iso_avg_pool2d(iso_context *ctx, const iso_tensor *x, const iso_pool2d_options *options);
/* Mean over all positions: (N,C,H,W) → (N,C,1,1). */
ISO_API iso_tensor *iso_global_avg_pool2d(iso_context *ctx, const iso_tensor *x);

#ifdef __cplusplus
}
#endif
#endif
