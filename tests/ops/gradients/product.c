/* product.c: gradient cases of ops/product; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
static iso_tensor *f_matmul(iso_context *ctx, iso_tensor *const *in) { return iso_matmul(ctx, A, B); }
static iso_tensor *f_matmul_tt(iso_context *ctx, iso_tensor *const *in) {
  return iso_matmul(ctx, iso_transpose(ctx, A, 0, 1), iso_transpose(ctx, B, 0, 1));
}
static iso_tensor *f_linear(iso_context *ctx, iso_tensor *const *in) { return iso_linear(ctx, A, B, in[2], false); }
static iso_tensor *f_linear_relu(iso_context *ctx, iso_tensor *const *in) { return iso_linear(ctx, A, B, in[2], true); }
static iso_tensor *f_conv2d(iso_context *ctx, iso_tensor *const *in) {
  return iso_conv2d(ctx, A, B, in[2], &(iso_conv2d_options){.pad_h = 1, .pad_w = 1});
}
static iso_tensor *f_conv2d_all(iso_context *ctx, iso_tensor *const *in) {
  return iso_conv2d(
      ctx, A, B, in[2],
      &(iso_conv2d_options){
          .stride_h = 2, .pad_h = 1, .pad_w = 2, .dilation_w = 2, .groups = 2, .relu = true, .residual = in[3]});
}
static iso_tensor *f_conv1d(iso_context *ctx, iso_tensor *const *in) {
  return iso_conv1d(ctx, A, B, in[2], &(iso_conv1d_options){.stride = 2, .pad = 1, .pad_right = 2, .dilation = 2});
}
static iso_tensor *f_conv3d(iso_context *ctx, iso_tensor *const *in) {
  return iso_conv3d(ctx, A, B, in[2],
                    &(iso_conv3d_options){.stride_h = 2,
                                          .pad_front = 1,
                                          .pad_w = 1,
                                          .pad_bottom = 1,
                                          .dilation_w = 2,
                                          .groups = 2,
                                          .relu = true,
                                          .residual = in[3]});
}
static iso_tensor *f_conv_transpose1d(iso_context *ctx, iso_tensor *const *in) {
  return iso_conv_transpose1d(ctx, A, B, in[2],
                              &(iso_conv1d_options){.stride = 2, .pad = 1, .pad_left = 1, .output_pad = 1});
}
static iso_tensor *f_conv_transpose2d(iso_context *ctx, iso_tensor *const *in) {
  return iso_conv_transpose2d(
      ctx, A, B, in[2],
      &(iso_conv2d_options){.stride_h = 2, .pad_h = 1, .dilation_w = 2, .groups = 2, .relu = true, .residual = in[3]});
}
static iso_tensor *f_conv_transpose3d(iso_context *ctx, iso_tensor *const *in) {
  return iso_conv_transpose3d(ctx, A, B, NULL, &(iso_conv3d_options){.stride_d = 2, .output_pad_d = 1, .pad_w = 1});
}
#undef A
#undef B

const gradient_case iso__gradients_product[] = {
    {"matmul", f_matmul, SIGNED, 2, {{2, 3, END}, {3, 2, END}}},
    {"matmul", f_matmul, SIGNED, 2, {{2, 1, 2, 3, END}, {2, 3, 2, END}}},
    {"matmul", f_matmul, SIGNED, 2, {{3, END}, {2, 3, 2, END}}},
    {"matmul", f_matmul, SIGNED, 2, {{2, 2, 3, END}, {3, END}}},
    {"matmul", f_matmul_tt, SIGNED, 2, {{3, 2, END}, {4, 3, END}}},
    {"linear", f_linear, SIGNED, 3, {{2, 2, 3, END}, {2, 3, END}, {2, END}}},
    {"linear", f_linear_relu, SIGNED, 3, {{4, 3, END}, {2, 3, END}, {2, END}}},
    {"conv", f_conv2d, SIGNED, 3, {{2, 2, 3, 3, END}, {2, 2, 3, 3, END}, {2, END}}},
    {"conv", f_conv2d_all, SIGNED, 4, {{2, 2, 4, 3, END}, {4, 1, 2, 2, END}, {4, END}, {2, 4, 3, 5, END}}},
    {"conv", f_conv1d, SIGNED, 3, {{2, 2, 6, END}, {3, 2, 3, END}, {3, END}}},
    {"conv", f_conv3d, SIGNED, 4, {{1, 2, 2, 3, 3, END}, {2, 1, 2, 2, 2, END}, {2, END}, {1, 2, 2, 2, 3, END}}},
    {"conv_transpose", f_conv_transpose1d, SIGNED, 3, {{2, 3, 3, END}, {3, 2, 3, END}, {2, END}}},
    {"conv_transpose",
     f_conv_transpose2d,
     SIGNED,
     4,
     {{2, 4, 2, 3, END}, {4, 1, 3, 2, END}, {2, END}, {2, 2, 3, 5, END}}},
    {"conv_transpose", f_conv_transpose3d, SIGNED, 2, {{1, 2, 2, 2, 3, END}, {2, 2, 2, 1, 3, END}}},
    {"conv_bwd_data", f_conv2d_all, SIGNED, 4, {{1, 2, 4, 3, END}, {2, 1, 2, 2, END}, {2, END}, {1, 2, 3, 5, END}}},
    {"conv_bwd_data", f_conv1d, SIGNED, 3, {{1, 2, 4, END}, {2, 2, 3, END}, {2, END}}},
    {"conv_bwd_weights", f_conv2d, SIGNED, 3, {{1, 2, 3, 3, END}, {1, 2, 2, 2, END}, {1, END}}},
    {"conv_bwd_weights",
     f_conv_transpose2d,
     SIGNED,
     4,
     {{1, 2, 2, 2, END}, {2, 1, 2, 2, END}, {2, END}, {1, 2, 2, 4, END}}},
    {NULL}};
