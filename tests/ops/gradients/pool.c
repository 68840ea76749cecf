/* pool.c: gradient cases of ops/pool; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
static iso_tensor *f_max_pool(iso_context *ctx, iso_tensor *const *in) {
  return iso_max_pool2d(ctx, A,
                        &(iso_pool2d_options){.kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .pad_h = 1});
}
static iso_tensor *f_avg_pool(iso_context *ctx, iso_tensor *const *in) {
  return iso_avg_pool2d(
      ctx, A,
      &(iso_pool2d_options){.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 1, .pad_h = 1, .pad_w = 1});
}
static iso_tensor *f_global_pool(iso_context *ctx, iso_tensor *const *in) { return iso_global_avg_pool2d(ctx, A); }
static iso_tensor *f_max_pool_squared(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, f_max_pool(ctx, in));
}
static iso_tensor *f_global_pool_squared(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, f_global_pool(ctx, in));
}
static iso_tensor *f_avg_pool_squared(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, f_avg_pool(ctx, in));
}
#undef A
#undef B

const gradient_case iso__gradients_pool[] = {{"max_pool2d", f_max_pool, SIGNED, 1, {{1, 2, 4, 4, END}}},
                                             {"max_pool2d_bwd", f_max_pool_squared, SIGNED, 1, {{2, 1, 5, 4, END}}},
                                             {"avg_pool2d", f_avg_pool, SIGNED, 1, {{1, 2, 4, 3, END}}},
                                             {"avg_pool2d_bwd", f_global_pool_squared, SIGNED, 1, {{2, 2, 2, 3, END}}},
                                             {"avg_pool2d_bwd", f_avg_pool_squared, SIGNED, 1, {{1, 2, 4, 3, END}}},
                                             {NULL}};
