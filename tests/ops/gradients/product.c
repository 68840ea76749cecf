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
static iso_tensor *f_conv_transpose_wide(iso_context *ctx, iso_tensor *const *in) {
  return iso_conv_transpose1d(ctx, A, B, in[2],
                              &(iso_conv1d_options){.stride = 2, .pad = 2, .dilation = 4, .output_pad = 3});
}
/* ---- compositions: the gradient of each operand, through all that they consist of ---- */
static iso_tensor *f_addmm(iso_context *ctx, iso_tensor *const *in) { return iso_addmm(ctx, A, B, in[2], 0.5, 2); }
static iso_tensor *f_addmv(iso_context *ctx, iso_tensor *const *in) { return iso_addmv(ctx, A, B, in[2], 1, 2); }
static iso_tensor *f_addr(iso_context *ctx, iso_tensor *const *in) { return iso_addr(ctx, A, B, in[2], 0.5, 1); }
static iso_tensor *f_baddbmm(iso_context *ctx, iso_tensor *const *in) { return iso_baddbmm(ctx, A, B, in[2], 2, -1); }
static iso_tensor *f_addbmm(iso_context *ctx, iso_tensor *const *in) { return iso_addbmm(ctx, A, B, in[2], 1, 0.5); }
static iso_tensor *f_dot(iso_context *ctx, iso_tensor *const *in) { return iso_dot(ctx, A, B); }
static iso_tensor *f_vecdot(iso_context *ctx, iso_tensor *const *in) { return iso_vecdot(ctx, A, B, 1); }
static iso_tensor *f_outer(iso_context *ctx, iso_tensor *const *in) { return iso_outer(ctx, A, B); }
static iso_tensor *f_inner(iso_context *ctx, iso_tensor *const *in) { return iso_inner(ctx, A, B); }
static iso_tensor *f_kron(iso_context *ctx, iso_tensor *const *in) { return iso_kron(ctx, A, B); }
static iso_tensor *f_tensordot(iso_context *ctx, iso_tensor *const *in) {
  return iso_tensordot(ctx, A, B, 2, (const int[]){2, 0}, (const int[]){0, -1});
}
static iso_tensor *f_multi_dot(iso_context *ctx, iso_tensor *const *in) {
  return iso_multi_dot(ctx, 4, (const iso_tensor *const *)in);
}
static iso_tensor *f_attention(iso_context *ctx, iso_tensor *const *in) {
  return iso_scaled_dot_product_attention(ctx, A, B, in[2], &(iso_attention_options){.mask = in[3], .scale = 0.8});
}
static iso_tensor *f_attention_causal(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *mask =
      iso_tensor_copy_from(ctx, ISO_BOOL, 2, ISO_DIMS(3, 4), (const bool[]){1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1});
  return iso_scaled_dot_product_attention(ctx, A, B, in[2], &(iso_attention_options){.mask = mask, .causal = true});
}
/* One head of k and v for two of q, of items of 3 and 1 keys, the second of 2 queries. */
static iso_tensor *f_attention_lengths(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *keys = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(2), (const int64_t[]){3, 1});
  iso_tensor *queries = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(2), (const int64_t[]){3, 2});
  return iso_scaled_dot_product_attention(
      ctx, A, B, in[2], &(iso_attention_options){.mask = in[3], .lengths = keys, .query_lengths = queries});
}
static iso_tensor *f_bilinear(iso_context *ctx, iso_tensor *const *in) { return iso_bilinear(ctx, A, B, in[2], in[3]); }
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
    {"conv_transpose", f_conv_transpose_wide, SIGNED, 3, {{1, 2, 3, END}, {2, 1, 2, END}, {1, END}}},
    {"matmul", f_addmm, SIGNED, 3, {{3, END}, {2, 4, END}, {4, 3, END}}},
    {"matmul", f_addmv, SIGNED, 3, {{END}, {2, 4, END}, {4, END}}},
    {"mul", f_addr, SIGNED, 3, {{2, 1, END}, {2, END}, {3, END}}},
    {"matmul", f_baddbmm, SIGNED, 3, {{2, 3, END}, {2, 2, 4, END}, {2, 4, 3, END}}},
    {"matmul", f_addbmm, SIGNED, 3, {{2, 3, END}, {2, 2, 4, END}, {2, 4, 3, END}}},
    {"matmul", f_dot, SIGNED, 2, {{4, END}, {4, END}}},
    {"sum", f_vecdot, SIGNED, 2, {{2, 3, END}, {1, 3, END}}},
    {"mul", f_outer, SIGNED, 2, {{3, END}, {4, END}}},
    {"matmul", f_inner, SIGNED, 2, {{2, 2, 3, END}, {2, 3, END}}},
    {"mul", f_kron, SIGNED, 2, {{2, 3, END}, {2, END}}},
    {"matmul", f_tensordot, SIGNED, 2, {{2, 3, 4, END}, {4, 3, 2, END}}},
    {"matmul", f_multi_dot, SIGNED, 4, {{3, END}, {3, 2, END}, {2, 4, END}, {4, 2, END}}},
    {"matmul", f_bilinear, SIGNED, 4, {{2, 2, 3, END}, {2, 2, 4, END}, {2, 3, 4, END}, {2, END}}},
    {"scaled_dot_product_attention",
     f_attention,
     SIGNED,
     4,
     {{2, 3, 2, END}, {1, 4, 2, END}, {4, 3, END}, {3, 4, END}}},
    {"scaled_dot_product_attention", f_attention_causal, SIGNED, 3, {{3, 2, END}, {4, 2, END}, {2, 4, 2, END}}},
    {"scaled_dot_product_attention",
     f_attention_lengths,
     SIGNED,
     4,
     {{2, 2, 3, 2, END}, {2, 1, 4, 2, END}, {2, 1, 4, 3, END}, {3, 4, END}}},
    {NULL}};
