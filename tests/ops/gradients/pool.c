/* pool.c: gradient cases of ops/pool; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
#define SQUARED(f)                                                                                                     \
  static iso_tensor *f##_squared(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, f(ctx, in)); }
static iso_tensor *f_max_pool(iso_context *ctx, iso_tensor *const *in) {
  return iso_max_pool2d(ctx, A,
                        &(iso_pool2d_options){.kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .pad_h = 1});
}
/* The gradient of Σ max_pool(x)³: its own gradients reach the third order. */
static iso_tensor *f_max_pool_slope(iso_context *ctx, iso_tensor *const *in) {
  const iso_tensor *loss[] = {iso_sum_all(ctx, iso_pow_scalar(ctx, f_max_pool(ctx, in), 3))}, *x[] = {A};
  iso_tensor *slope = NULL;
  iso_grad_of(1, loss, NULL, 1, x, &(iso_backward_options){.create_graph = true}, &slope);
  return slope;
}
static iso_tensor *f_max_pool_last(iso_context *ctx, iso_tensor *const *in) {
  return iso_max_pool1d(ctx, iso_channels_last(ctx, A),
                        &(iso_pool1d_options){.kernel = 2, .stride = 1, .dilation = 2, .ceil_mode = true});
}
static iso_tensor *f_max_pool_indices(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *indices;
  return iso_max_pool3d_with_indices(
      ctx, A, &(iso_pool3d_options){.kernel_d = 1, .kernel_h = 2, .kernel_w = 2, .stride_h = 1, .stride_w = 1},
      &indices);
}
static iso_tensor *f_adaptive_max(iso_context *ctx, iso_tensor *const *in) {
  return iso_adaptive_max_pool2d(ctx, A, 3, 2, NULL);
}
static iso_tensor *f_avg_pool(iso_context *ctx, iso_tensor *const *in) {
  return iso_avg_pool2d(
      ctx, A,
      &(iso_pool2d_options){.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 1, .pad_h = 1, .pad_w = 1});
}
static iso_tensor *f_avg_pool_3d(iso_context *ctx, iso_tensor *const *in) {
  return iso_avg_pool3d(ctx, iso_channels_last(ctx, A),
                        &(iso_pool3d_options){.kernel_d = 2,
                                              .kernel_h = 2,
                                              .kernel_w = 3,
                                              .stride_d = 1,
                                              .pad_w = 1,
                                              .count_padding = true,
                                              .ceil_mode = true,
                                              .divisor = 5});
}
static iso_tensor *f_adaptive_avg(iso_context *ctx, iso_tensor *const *in) {
  return iso_adaptive_avg_pool2d(ctx, A, 3, 2);
}
static iso_tensor *f_global_pool(iso_context *ctx, iso_tensor *const *in) { return iso_global_avg_pool2d(ctx, A); }
static iso_tensor *f_lp_pool(iso_context *ctx, iso_tensor *const *in) {
  return iso_lp_pool1d(ctx, A, 3, &(iso_pool1d_options){.kernel = 3, .stride = 2, .ceil_mode = true});
}
static iso_tensor *f_fractional(iso_context *ctx, iso_tensor *const *in) {
  const double u[] = {0.3, 0.8, 0.1, 0.6};
  return iso_fractional_max_pool2d(
      ctx, A,
      &(iso_fractional_pool2d_options){.kernel_h = 2,
                                       .kernel_w = 2,
                                       .out_h = 2,
                                       .out_w = 3,
                                       .samples = iso_tensor_copy_from(ctx, ISO_F64, 3, ISO_DIMS(1, 2, 2), u)},
      NULL);
}
static iso_tensor *f_unpool(iso_context *ctx, iso_tensor *const *in) {
  const int64_t places[] = {7, 0, 3, 2, 4, 8};
  return iso_max_unpool2d(ctx, A, iso_tensor_copy_from(ctx, ISO_I64, 4, ISO_DIMS(1, 2, 1, 3), places), 3, 3);
}
static iso_tensor *f_bilinear(iso_context *ctx, iso_tensor *const *in) {
  return iso_interpolate(ctx, A, &(iso_interpolate_options){.mode = ISO_INTERPOLATE_LINEAR, .size_h = 5, .size_w = 3});
}
static iso_tensor *f_trilinear(iso_context *ctx, iso_tensor *const *in) {
  return iso_interpolate(
      ctx, iso_channels_last(ctx, A),
      &(iso_interpolate_options){
          .mode = ISO_INTERPOLATE_LINEAR, .size_d = 3, .size_h = 2, .size_w = 4, .align_corners = true});
}
static iso_tensor *f_bicubic(iso_context *ctx, iso_tensor *const *in) {
  return iso_interpolate(ctx, A,
                         &(iso_interpolate_options){.mode = ISO_INTERPOLATE_CUBIC, .scale_h = 1.7, .scale_w = 2.2});
}
static iso_tensor *f_smooth(iso_context *ctx, iso_tensor *const *in) {
  return iso_interpolate(
      ctx, A, &(iso_interpolate_options){.mode = ISO_INTERPOLATE_CUBIC, .size_h = 2, .size_w = 7, .antialias = true});
}
static iso_tensor *f_nearest(iso_context *ctx, iso_tensor *const *in) {
  return iso_interpolate(ctx, A, &(iso_interpolate_options){.size_w = 7});
}
/* Values of the fill are far from the boundaries between inputs, where the grid's gradient jumps. */
static iso_tensor *sample(iso_context *ctx, iso_tensor *const *in, iso_grid_sample_options options) {
  return iso_grid_sample(ctx, A, iso_mul_scalar(ctx, B, 0.45), &options);
}
static iso_tensor *f_grid_linear(iso_context *ctx, iso_tensor *const *in) {
  return sample(ctx, in, (iso_grid_sample_options){.padding = ISO_GRID_REFLECTION, .align_corners = true});
}
static iso_tensor *f_grid_volume(iso_context *ctx, iso_tensor *const *in) {
  return sample(ctx, in, (iso_grid_sample_options){.padding = ISO_GRID_BORDER});
}
static iso_tensor *f_grid_zeros(iso_context *ctx, iso_tensor *const *in) {
  return sample(ctx, in, (iso_grid_sample_options){0});
}
static iso_tensor *f_grid_cubic(iso_context *ctx, iso_tensor *const *in) {
  return sample(ctx, in, (iso_grid_sample_options){.mode = ISO_GRID_BICUBIC, .padding = ISO_GRID_BORDER});
}
static iso_tensor *f_grid_nearest(iso_context *ctx, iso_tensor *const *in) {
  return sample(ctx, in, (iso_grid_sample_options){.mode = ISO_GRID_NEAREST, .align_corners = true});
}
SQUARED(f_bilinear)
SQUARED(f_trilinear)
SQUARED(f_bicubic)
SQUARED(f_smooth)
SQUARED(f_nearest)
SQUARED(f_max_pool)
SQUARED(f_max_pool_slope)
SQUARED(f_max_pool_last)
SQUARED(f_max_pool_indices)
SQUARED(f_global_pool)
SQUARED(f_avg_pool)
SQUARED(f_avg_pool_3d)
SQUARED(f_adaptive_avg)
SQUARED(f_unpool)
SQUARED(f_fractional)
#undef A
#undef B

const gradient_case iso__gradients_pool[] = {
    {"max_pool", f_max_pool, SIGNED, 1, {{1, 2, 4, 4, END}}},
    {"max_pool", f_max_pool_last_squared, SIGNED, 1, {{2, 2, 7, END}}},
    {"max_pool_bwd", f_max_pool_squared, SIGNED, 1, {{2, 1, 5, 4, END}}},
    {"max_pool_pick", f_max_pool_slope_squared, SIGNED, 1, {{2, 1, 5, 4, END}}},
    {"max_pool_indexed", f_max_pool_indices, SIGNED, 1, {{1, 2, 2, 3, 4, END}}},
    {"unpool_add", f_max_pool_indices_squared, SIGNED, 1, {{1, 2, 2, 3, 4, END}}},
    {"unpool_pick", f_unpool_squared, SIGNED, 1, {{1, 2, 1, 3, END}}},
    {"max_pool_indexed", f_adaptive_max, SIGNED, 1, {{2, 5, 3, END}}},
    {"avg_pool", f_avg_pool, SIGNED, 1, {{1, 2, 4, 3, END}}},
    {"avg_pool", f_lp_pool, POSITIVE, 1, {{1, 2, 6, END}}},
    {"avg_pool_bwd", f_global_pool_squared, SIGNED, 1, {{2, 2, 2, 3, END}}},
    {"avg_pool_bwd", f_avg_pool_squared, SIGNED, 1, {{1, 2, 4, 3, END}}},
    {"avg_pool_bwd", f_avg_pool_3d_squared, SIGNED, 1, {{1, 2, 3, 3, 4, END}}},
    {"avg_pool_bwd", f_adaptive_avg_squared, SIGNED, 1, {{1, 2, 5, 3, END}}},
    {"max_unpool", f_unpool, SIGNED, 1, {{1, 2, 1, 3, END}}},
    {"fractional_max_pool", f_fractional_squared, SIGNED, 1, {{1, 2, 4, 5, END}}},
    {"interpolate", f_bilinear_squared, SIGNED, 1, {{2, 2, 3, 4, END}}},
    {"interpolate", f_trilinear_squared, SIGNED, 1, {{1, 2, 2, 3, 2, END}}},
    {"interpolate_bwd", f_bicubic_squared, SIGNED, 1, {{1, 2, 3, 4, END}}},
    {"interpolate_bwd", f_smooth_squared, SIGNED, 1, {{1, 1, 6, 5, END}}},
    {"interpolate_bwd", f_nearest_squared, SIGNED, 1, {{2, 2, 5, END}}},
    {"grid_sample", f_grid_linear, SIGNED, 2, {{2, 3, 4, 3, END}, {2, 2, 3, 2, END}}},
    {"grid_sample", f_grid_volume, SIGNED, 2, {{1, 2, 3, 4, 3, END}, {1, 2, 2, 2, 3, END}}},
    {"grid_sample", f_grid_zeros, SIGNED, 2, {{1, 2, 4, 5, END}, {1, 3, 4, 2, END}}},
    {"grid_sample", f_grid_cubic, SIGNED, 2, {{1, 2, 4, 5, END}, {1, 3, 2, 2, END}}},
    {"grid_sample", f_grid_nearest, SIGNED, 2, {{1, 2, 4, 5, END}, {1, 3, 2, 2, END}}},
    {NULL}};
