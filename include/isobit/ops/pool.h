/* ops/pool.h: pooling and resampling. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_POOL_H
#define ISOBIT_OPS_POOL_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- pooling of signals (N,C,L), images (N,C,H,W) and volumes (N,C,D,H,W); the batch may be missing ----
 *
 * Each channel by itself. Windows along an axis: (in + 2·pad − dilation·(kernel − 1) − 1)/stride + 1, rounded down, or
 * up with ceil_mode if the last window begins inside the input or its first padding. f32 and f64; x is read
 * channels-last or contiguous (others are copied) and y lies as x was read. ISO_INVALID_ARGUMENT: a kernel of 0, a
 * padding of more than half the kernel, a negative option, one above 2^31 − 1. ISO_SHAPE_MISMATCH: other numbers of
 * dimensions, an extent of 0 beside the batch, a kernel that does not fit. */
/* kernel 0 is an error; stride 0: the kernel; dilation 0: 1. */
typedef struct iso_pool1d_options {
  int64_t kernel, stride, pad;
  bool count_padding; /* average only: divide by the whole window, its padding included   */
  int64_t dilation;   /* maximum only                                                     */
  bool ceil_mode;     /* round the number of windows up                                   */
  int64_t divisor;    /* average only; not 0: divide by it                                */
} iso_pool1d_options;
typedef struct iso_pool2d_options {
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
  bool count_padding;
  int64_t dilation_h, dilation_w;
  bool ceil_mode;
  int64_t divisor;
} iso_pool2d_options;
typedef struct iso_pool3d_options {
  int64_t kernel_d, kernel_h, kernel_w, stride_d, stride_h, stride_w, pad_d, pad_h, pad_w;
  bool count_padding;
  int64_t dilation_d, dilation_h, dilation_w;
  bool ceil_mode;
  int64_t divisor;
} iso_pool3d_options;

/* A NaN wins, else the largest; ties go to the lowest position, and so does the gradient. Class `extremum`, the
 * gradient `ordered`; twice differentiable, the choice being constant. */
ISO_API iso_tensor *iso_max_pool1d(iso_context *ctx, const iso_tensor *x, const iso_pool1d_options *options);
ISO_API iso_tensor *iso_max_pool2d(iso_context *ctx, const iso_tensor *x, const iso_pool2d_options *options);
ISO_API iso_tensor *iso_max_pool3d(iso_context *ctx, const iso_tensor *x, const iso_pool3d_options *options);
/* And where: *indices (y's shape, i64) numbers the positions of a plane row-major, as iso_max_unpool… wants them. It is
 * a new handle in the current scope, NULL when the operator fails. */
ISO_API iso_tensor *iso_max_pool1d_with_indices(iso_context *ctx, const iso_tensor *x,
                                                const iso_pool1d_options *options, iso_tensor **indices);
ISO_API iso_tensor *iso_max_pool2d_with_indices(iso_context *ctx, const iso_tensor *x,
                                                const iso_pool2d_options *options, iso_tensor **indices);
ISO_API iso_tensor *iso_max_pool3d_with_indices(iso_context *ctx, const iso_tensor *x,
                                                const iso_pool3d_options *options, iso_tensor **indices);
/* Sum over the window's positions, ascending (class `ordered`), divided by their number. */
ISO_API iso_tensor *iso_avg_pool1d(iso_context *ctx, const iso_tensor *x, const iso_pool1d_options *options);
ISO_API iso_tensor *iso_avg_pool2d(iso_context *ctx, const iso_tensor *x, const iso_pool2d_options *options);
ISO_API iso_tensor *iso_avg_pool3d(iso_context *ctx, const iso_tensor *x, const iso_pool3d_options *options);
/* Mean over all positions: (N,C,H,W) → (N,C,1,1). */
ISO_API iso_tensor *iso_global_avg_pool2d(iso_context *ctx, const iso_tensor *x);
/* (mean of x^p over the window · the kernel's positions)^(1/p): the p-norm of every whole window. Options: kernel,
 * stride and ceil_mode. */
ISO_API iso_tensor *iso_lp_pool1d(iso_context *ctx, const iso_tensor *x, double p, const iso_pool1d_options *options);
ISO_API iso_tensor *iso_lp_pool2d(iso_context *ctx, const iso_tensor *x, double p, const iso_pool2d_options *options);
ISO_API iso_tensor *iso_lp_pool3d(iso_context *ctx, const iso_tensor *x, double p, const iso_pool3d_options *options);

/* ---- adaptive pooling: window o of out holds positions ⌊o·in/out⌋ … ⌈(o + 1)·in/out⌉ − 1; −1: out = in ---- */
ISO_API iso_tensor *iso_adaptive_avg_pool1d(iso_context *ctx, const iso_tensor *x, int64_t out);
ISO_API iso_tensor *iso_adaptive_avg_pool2d(iso_context *ctx, const iso_tensor *x, int64_t out_h, int64_t out_w);
ISO_API iso_tensor *iso_adaptive_avg_pool3d(iso_context *ctx, const iso_tensor *x, int64_t out_d, int64_t out_h,
                                            int64_t out_w);
/* indices as above, or NULL. */
ISO_API iso_tensor *iso_adaptive_max_pool1d(iso_context *ctx, const iso_tensor *x, int64_t out, iso_tensor **indices);
ISO_API iso_tensor *iso_adaptive_max_pool2d(iso_context *ctx, const iso_tensor *x, int64_t out_h, int64_t out_w,
                                            iso_tensor **indices);
ISO_API iso_tensor *iso_adaptive_max_pool3d(iso_context *ctx, const iso_tensor *x, int64_t out_d, int64_t out_h,
                                            int64_t out_w, iso_tensor **indices);

/* ---- the reverse of max pooling ---- */
/* Zeros of `out` positions, x's elements at their indices (x's shape, i64); where several name a place the last one
 * stays. Every element gets the gradient of its place. ISO_INVALID_ARGUMENT: an index outside the plane, named with its
 * position. */
ISO_API iso_tensor *iso_max_unpool1d(iso_context *ctx, const iso_tensor *x, const iso_tensor *indices, int64_t out);
ISO_API iso_tensor *iso_max_unpool2d(iso_context *ctx, const iso_tensor *x, const iso_tensor *indices, int64_t out_h,
                                     int64_t out_w);
ISO_API iso_tensor *iso_max_unpool3d(iso_context *ctx, const iso_tensor *x, const iso_tensor *indices, int64_t out_d,
                                     int64_t out_h, int64_t out_w);

/* ---- fractional max pooling (Graham, arXiv:1412.6071): windows at pseudo-random places ----
 *
 * Window i of an axis begins at ⌊(i + u)·a⌋ − ⌊u·a⌋, a = (in − kernel)/(out − 1), the last one at in − kernel; u is the
 * image's and channel's own sample of that axis. */
typedef struct iso_fractional_pool2d_options {
  int64_t kernel_h, kernel_w;
  int64_t out_h, out_w; /* 0: ⌊in·ratio⌋ */
  double ratio_h, ratio_w;
  const iso_tensor *samples; /* (N,C,2) in [0,1): of width, of height; NULL: drawn as iso_rand draws */
} iso_fractional_pool2d_options;
typedef struct iso_fractional_pool3d_options {
  int64_t kernel_d, kernel_h, kernel_w;
  int64_t out_d, out_h, out_w;
  double ratio_d, ratio_h, ratio_w;
  const iso_tensor *samples; /* (N,C,3): of depth, of height, of width */
} iso_fractional_pool3d_options;
ISO_API iso_tensor *iso_fractional_max_pool2d(iso_context *ctx, const iso_tensor *x,
                                              const iso_fractional_pool2d_options *options, iso_tensor **indices);
ISO_API iso_tensor *iso_fractional_max_pool3d(iso_context *ctx, const iso_tensor *x,
                                              const iso_fractional_pool3d_options *options, iso_tensor **indices);

/* ---- interpolation of signals (N,C,L), images (N,C,H,W) and volumes (N,C,D,H,W) ----
 *
 * Output o of an axis lies at (o + ½)·in/out − ½ of the input; with align_corners at o·(in − 1)/(out − 1). Each is the
 * sum of w·x over its neighbours, class `ordered`, w the product of the axes' weights, computed in f64 and rounded
 * once; gradients, ordered too, gather over the outputs that see an input, ascending. ISO_INVALID_ARGUMENT: a size
 * below 1, neither size nor scale, corners or antialias in a mode without them. */
typedef enum iso_interpolate_mode {
  ISO_INTERPOLATE_NEAREST,       /* input ⌊o·in/out⌋ */
  ISO_INTERPOLATE_LINEAR,        /* bilinear, trilinear */
  ISO_INTERPOLATE_CUBIC,         /* Keys' kernel, a = −3/4, edges repeated */
  ISO_INTERPOLATE_NEAREST_EXACT, /* input ⌊(o + ½)·in/out⌋ */
  ISO_INTERPOLATE_AREA           /* adaptive average pooling */
} iso_interpolate_mode;
typedef struct iso_interpolate_options {
  iso_interpolate_mode mode;
  int64_t size_d, size_h, size_w;   /* of the axes that x has; or, 0 … */
  double scale_d, scale_h, scale_w; /* ⌊in·scale⌋; where it is given 1/scale stands for in/out above */
  bool align_corners;               /* linear and cubic */
  bool recompute_scale_factor;      /* in/out after all */
  bool antialias;                   /* linear and cubic: kernels (cubic's a = −1/2) widened where the image shrinks */
} iso_interpolate_options;
ISO_API iso_tensor *iso_interpolate(iso_context *ctx, const iso_tensor *x, const iso_interpolate_options *options);

/* ---- sampling at a grid (spatial transformers, Jaderberg et al., arXiv:1506.02025) ----
 *
 * x (N,C,H,W) and grid (N,P,Q,2) of (column, row), or x (N,C,D,H,W) and grid (N,O,P,Q,3) of (column, row, depth), −1 …
 * 1 across the input → y (N,C,P,Q) or (N,C,O,P,Q), channels-last: x at those places, taps ascending, class `ordered`.
 * −1 and 1 are the outer edges of the first and last input, with align_corners their middles. Gradients: x's is an
 * ordered scatter, ascending by output; the grid's sums channels by `lanes`. Not differentiable twice. Cubic is for
 * images. A coordinate that is no number lies outside, or at 0 where padding has no outside. */
typedef enum iso_grid_mode { ISO_GRID_BILINEAR, ISO_GRID_NEAREST, ISO_GRID_BICUBIC } iso_grid_mode;
typedef enum iso_grid_padding { ISO_GRID_ZEROS, ISO_GRID_BORDER, ISO_GRID_REFLECTION } iso_grid_padding;
typedef struct iso_grid_sample_options {
  iso_grid_mode mode;
  iso_grid_padding padding;
  bool align_corners;
} iso_grid_sample_options;
/* options NULL: bilinear, zeros. */
ISO_API iso_tensor *iso_grid_sample(iso_context *ctx, const iso_tensor *x, const iso_tensor *grid,
                                    const iso_grid_sample_options *options);
/* theta (N,2,3) and the size (N,C,H,W) of the samples wanted → grid (N,H,W,2), or theta (N,3,4) and (N,C,D,H,W) →
 * (N,D,H,W,3): theta·(column, row[, depth], 1) of every place, a matmul. */
ISO_API iso_tensor *iso_affine_grid(iso_context *ctx, const iso_tensor *theta, int n_dims, const int64_t *size,
                                    bool align_corners);

#ifdef __cplusplus
}
#endif
#endif
