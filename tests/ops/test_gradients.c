/* test_gradients.c: every row of ops.def against finite differences in f64, first and second order.
 *
 * A case is a function of a few tensors. Its gradient of L = Σ c·y (c fixed and uneven) must equal central differences
 * of L; then the same for L2 = Σ d·(∂L/∂x), which runs every rule a second time through create_graph. A row that no
 * case records on the tape fails the test. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "autograd/state.h"
#include "ops/ops.h"

enum { MAX_INPUTS = 4 };
typedef iso_tensor *function(iso_context *ctx, iso_tensor *const *in);
typedef enum domain { SIGNED, POSITIVE } domain; /* SIGNED: away from zero, where kinks are */
typedef struct gradient_case {
  const char *rule;
  function *f;
  domain domain;
  int n_inputs;
  int64_t shapes[MAX_INPUTS][6]; /* each ends with −1 */
} gradient_case;

/* ---- the functions ---- */
#define A in[0]
#define B in[1]
static iso_tensor *f_add(iso_context *ctx, iso_tensor *const *in) { return iso_add(ctx, A, B); }
static iso_tensor *f_sub(iso_context *ctx, iso_tensor *const *in) { return iso_sub(ctx, A, B); }
static iso_tensor *f_mul(iso_context *ctx, iso_tensor *const *in) { return iso_mul(ctx, A, B); }
static iso_tensor *f_mul_self(iso_context *ctx, iso_tensor *const *in) { return iso_mul(ctx, A, A); }
static iso_tensor *f_div(iso_context *ctx, iso_tensor *const *in) { return iso_div(ctx, A, B); }
static iso_tensor *f_pow(iso_context *ctx, iso_tensor *const *in) { return iso_pow(ctx, A, B); }
static iso_tensor *f_maximum(iso_context *ctx, iso_tensor *const *in) { return iso_maximum(ctx, A, B); }
static iso_tensor *f_minimum(iso_context *ctx, iso_tensor *const *in) { return iso_minimum(ctx, A, B); }
static iso_tensor *f_add_relu(iso_context *ctx, iso_tensor *const *in) { return iso_add_relu(ctx, A, B); }
static iso_tensor *f_where(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *condition = iso_detach(ctx, iso_gt(ctx, in[2], iso_mul_scalar(ctx, in[2], 0)));
  return iso_where(ctx, condition, A, B);
}
static iso_tensor *f_add_scalar(iso_context *ctx, iso_tensor *const *in) { return iso_add_scalar(ctx, A, 0.75); }
static iso_tensor *f_mul_scalar(iso_context *ctx, iso_tensor *const *in) { return iso_mul_scalar(ctx, A, -1.5); }
static iso_tensor *f_rsub_scalar(iso_context *ctx, iso_tensor *const *in) { return iso_rsub_scalar(ctx, A, 2); }
static iso_tensor *f_div_scalar(iso_context *ctx, iso_tensor *const *in) { return iso_div_scalar(ctx, A, 3); }
static iso_tensor *f_rdiv_scalar(iso_context *ctx, iso_tensor *const *in) { return iso_rdiv_scalar(ctx, A, 2); }
static iso_tensor *f_pow_scalar(iso_context *ctx, iso_tensor *const *in) { return iso_pow_scalar(ctx, A, 2.5); }
static iso_tensor *f_pow_3(iso_context *ctx, iso_tensor *const *in) { return iso_pow_scalar(ctx, A, 3); }
static iso_tensor *f_clamp(iso_context *ctx, iso_tensor *const *in) { return iso_clamp(ctx, A, -0.8, 0.9); }
static iso_tensor *f_neg(iso_context *ctx, iso_tensor *const *in) { return iso_neg(ctx, A); }
static iso_tensor *f_abs(iso_context *ctx, iso_tensor *const *in) { return iso_abs(ctx, A); }
static iso_tensor *f_square(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, A); }
static iso_tensor *f_sqrt(iso_context *ctx, iso_tensor *const *in) { return iso_sqrt(ctx, A); }
static iso_tensor *f_rsqrt(iso_context *ctx, iso_tensor *const *in) { return iso_rsqrt(ctx, A); }
static iso_tensor *f_reciprocal(iso_context *ctx, iso_tensor *const *in) { return iso_reciprocal(ctx, A); }
static iso_tensor *f_exp(iso_context *ctx, iso_tensor *const *in) { return iso_exp(ctx, A); }
static iso_tensor *f_exp2(iso_context *ctx, iso_tensor *const *in) { return iso_exp2(ctx, A); }
static iso_tensor *f_expm1(iso_context *ctx, iso_tensor *const *in) { return iso_expm1(ctx, A); }
static iso_tensor *f_log(iso_context *ctx, iso_tensor *const *in) { return iso_log(ctx, A); }
static iso_tensor *f_log2(iso_context *ctx, iso_tensor *const *in) { return iso_log2(ctx, A); }
static iso_tensor *f_log1p(iso_context *ctx, iso_tensor *const *in) { return iso_log1p(ctx, A); }
static iso_tensor *f_erf(iso_context *ctx, iso_tensor *const *in) { return iso_erf(ctx, A); }
static iso_tensor *f_sinpi(iso_context *ctx, iso_tensor *const *in) { return iso_sinpi(ctx, A); }
static iso_tensor *f_cospi(iso_context *ctx, iso_tensor *const *in) { return iso_cospi(ctx, A); }
static iso_tensor *f_relu(iso_context *ctx, iso_tensor *const *in) { return iso_relu(ctx, A); }
static iso_tensor *f_tanh(iso_context *ctx, iso_tensor *const *in) { return iso_tanh(ctx, A); }
static iso_tensor *f_sigmoid(iso_context *ctx, iso_tensor *const *in) { return iso_sigmoid(ctx, A); }
static iso_tensor *f_gelu(iso_context *ctx, iso_tensor *const *in) { return iso_gelu(ctx, A); }
static iso_tensor *f_gelu_tanh(iso_context *ctx, iso_tensor *const *in) { return iso_gelu_tanh(ctx, A); }
static iso_tensor *f_silu(iso_context *ctx, iso_tensor *const *in) { return iso_silu(ctx, A); }
static iso_tensor *f_softplus(iso_context *ctx, iso_tensor *const *in) { return iso_softplus(ctx, A); }
static iso_tensor *f_sum(iso_context *ctx, iso_tensor *const *in) { return iso_sum(ctx, A, 2, (int[]){0, -1}, false); }
static iso_tensor *f_sum_last(iso_context *ctx, iso_tensor *const *in) { return iso_sum(ctx, A, 1, (int[]){2}, true); }
static iso_tensor *f_mean(iso_context *ctx, iso_tensor *const *in) { return iso_mean(ctx, A, 1, (int[]){1}, false); }
static iso_tensor *f_var(iso_context *ctx, iso_tensor *const *in) {
  return iso_var(ctx, A, 2, (int[]){0, 2}, false, 1);
}
static iso_tensor *f_prod(iso_context *ctx, iso_tensor *const *in) { return iso_prod(ctx, A, 1, (int[]){1}, false); }
static iso_tensor *f_amax(iso_context *ctx, iso_tensor *const *in) { return iso_amax(ctx, A, 1, (int[]){0}, true); }
static iso_tensor *f_amin(iso_context *ctx, iso_tensor *const *in) { return iso_amin(ctx, A, 2, (int[]){1, 2}, false); }
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
static iso_tensor *batch_norm(iso_context *ctx, iso_tensor *const *in, const iso_batch_norm_options *o) {
  const int64_t c = iso_tensor_shape(A)[1];
  iso_tensor *mean = iso_tensor_full(ctx, ISO_F64, 1, &c, 0.125), *var = iso_tensor_full(ctx, ISO_F64, 1, &c, 1.5);
  return iso_batch_norm(ctx, A, B, in[2], mean, var, o);
}
static iso_tensor *f_batch_norm(iso_context *ctx, iso_tensor *const *in) {
  return batch_norm(ctx, in, &(iso_batch_norm_options){.training = true});
}
static iso_tensor *f_batch_norm_eval(iso_context *ctx, iso_tensor *const *in) {
  return batch_norm(ctx, in, &(iso_batch_norm_options){.relu = true});
}
static iso_tensor *f_batch_norm_fused(iso_context *ctx, iso_tensor *const *in) {
  return batch_norm(ctx, in, &(iso_batch_norm_options){.training = true, .relu = true, .residual = in[3]});
}
static iso_tensor *f_layer_norm(iso_context *ctx, iso_tensor *const *in) {
  return iso_layer_norm(ctx, A, 2, B, in[2], 0);
}
static iso_tensor *f_layer_norm_plain(iso_context *ctx, iso_tensor *const *in) {
  return iso_layer_norm(ctx, iso_transpose(ctx, A, 0, 1), 1, NULL, NULL, 1e-3);
}
static iso_tensor *f_rms_norm(iso_context *ctx, iso_tensor *const *in) { return iso_rms_norm(ctx, A, 1, B, 0); }
static iso_tensor *f_group_norm(iso_context *ctx, iso_tensor *const *in) {
  return iso_group_norm(ctx, A, 2, B, in[2], 0);
}
static iso_tensor *f_instance_norm(iso_context *ctx, iso_tensor *const *in) {
  return iso_instance_norm(ctx, A, NULL, B, 0);
}
static iso_tensor *f_dropout(iso_context *ctx, iso_tensor *const *in) {
  iso_random_set_step(ctx, 5); /* the same elements every time */
  return iso_dropout(ctx, A, 0.4, true);
}
static iso_tensor *f_softmax(iso_context *ctx, iso_tensor *const *in) { return iso_softmax(ctx, A, -1); }
static iso_tensor *f_softmax_first(iso_context *ctx, iso_tensor *const *in) { return iso_softmax(ctx, A, 0); }
static iso_tensor *f_log_softmax(iso_context *ctx, iso_tensor *const *in) { return iso_log_softmax(ctx, A, 1); }
static iso_tensor *cross_entropy(iso_context *ctx, const iso_tensor *x, const iso_cross_entropy_options *o) {
  const int64_t rows = iso_tensor_shape(x)[0], target[] = {2, 0, 3, 3};
  return iso_cross_entropy(ctx, x, iso_tensor_copy_from(ctx, ISO_I64, 1, &rows, target), o);
}
static iso_tensor *f_cross_entropy(iso_context *ctx, iso_tensor *const *in) { return cross_entropy(ctx, A, NULL); }
static iso_tensor *f_cross_entropy_weighted(iso_context *ctx, iso_tensor *const *in) {
  const double w[] = {0.5, 1, 2, 0.25};
  iso_tensor *weights = iso_tensor_copy_from(ctx, ISO_F64, 1, ISO_DIMS(4), w);
  return cross_entropy(ctx, A, &(iso_cross_entropy_options){.weights = weights});
}
static iso_tensor *f_cross_entropy_count(iso_context *ctx, iso_tensor *const *in) {
  return cross_entropy(ctx, A, &(iso_cross_entropy_options){.count = 7});
}
static iso_tensor *f_mse(iso_context *ctx, iso_tensor *const *in) { return iso_mse_loss(ctx, A, B, 0); }
static iso_tensor *f_reshape(iso_context *ctx, iso_tensor *const *in) {
  return iso_reshape(ctx, A, 2, ISO_DIMS(-1, 4));
}
static iso_tensor *f_reshape_copy(iso_context *ctx, iso_tensor *const *in) {
  return iso_flatten(ctx, iso_channels_last(ctx, A), 1, -1);
}
static iso_tensor *f_permute(iso_context *ctx, iso_tensor *const *in) { return iso_permute(ctx, A, (int[]){2, 0, -2}); }
static iso_tensor *f_slice(iso_context *ctx, iso_tensor *const *in) { return iso_slice(ctx, A, 1, 1, 4, 2); }
static iso_tensor *f_select(iso_context *ctx, iso_tensor *const *in) { return iso_select(ctx, A, 1, -1); }
static iso_tensor *f_expand(iso_context *ctx, iso_tensor *const *in) {
  return iso_expand(ctx, A, 3, ISO_DIMS(2, 3, 4));
}
static iso_tensor *f_clone(iso_context *ctx, iso_tensor *const *in) { return iso_clone(ctx, A); }
static iso_tensor *f_cat(iso_context *ctx, iso_tensor *const *in) {
  return iso_cat(ctx, 3, (const iso_tensor *const[]){A, B, A}, 1);
}
static iso_tensor *f_stack(iso_context *ctx, iso_tensor *const *in) {
  return iso_stack(ctx, 2, (const iso_tensor *const[]){A, B}, -1);
}
/* Linear in their input, so that their gradient operators are only recorded under something that is not. */
static iso_tensor *f_relu_squared(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, f_relu(ctx, in)); }
static iso_tensor *f_max_pool_squared(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, f_max_pool(ctx, in));
}
static iso_tensor *f_global_pool_squared(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, f_global_pool(ctx, in));
}
static iso_tensor *f_avg_pool_squared(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, f_avg_pool(ctx, in));
}
static iso_tensor *f_slice_squared(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, f_slice(ctx, in));
}
#undef A
#undef B

#define END -1
static const gradient_case cases[] = {
    {"add", f_add, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"sub", f_sub, SIGNED, 2, {{2, 1, END}, {4, 1, 3, END}}},
    {"mul", f_mul, SIGNED, 2, {{2, 3, END}, {2, 1, END}}},
    {"mul", f_mul_self, SIGNED, 1, {{2, 3, END}}},
    {"div", f_div, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"div", f_div_scalar, SIGNED, 1, {{5, END}}},
    {"pow", f_pow, POSITIVE, 2, {{2, 3, END}, {3, END}}},
    {"maximum", f_maximum, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"minimum", f_minimum, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"add_relu", f_add_relu, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"where", f_where, SIGNED, 3, {{2, 3, END}, {3, END}, {2, 3, END}}},
    {"add_scalar", f_add_scalar, SIGNED, 1, {{5, END}}},
    {"mul_scalar", f_mul_scalar, SIGNED, 1, {{5, END}}},
    {"rsub_scalar", f_rsub_scalar, SIGNED, 1, {{5, END}}},
    {"rdiv_scalar", f_rdiv_scalar, SIGNED, 1, {{5, END}}},
    {"pow_scalar", f_pow_scalar, POSITIVE, 1, {{5, END}}},
    {"pow_scalar", f_pow_3, SIGNED, 1, {{5, END}}},
    {"clamp", f_clamp, SIGNED, 1, {{9, END}}},
    {"neg", f_neg, SIGNED, 1, {{5, END}}},
    {"abs", f_abs, SIGNED, 1, {{5, END}}},
    {"square", f_square, SIGNED, 1, {{5, END}}},
    {"sqrt", f_sqrt, POSITIVE, 1, {{5, END}}},
    {"rsqrt", f_rsqrt, POSITIVE, 1, {{5, END}}},
    {"reciprocal", f_reciprocal, SIGNED, 1, {{5, END}}},
    {"exp", f_exp, SIGNED, 1, {{5, END}}},
    {"exp2", f_exp2, SIGNED, 1, {{5, END}}},
    {"expm1", f_expm1, SIGNED, 1, {{5, END}}},
    {"log", f_log, POSITIVE, 1, {{5, END}}},
    {"log2", f_log2, POSITIVE, 1, {{5, END}}},
    {"log1p", f_log1p, POSITIVE, 1, {{5, END}}},
    {"erf", f_erf, SIGNED, 1, {{5, END}}},
    {"sinpi", f_sinpi, SIGNED, 1, {{5, END}}},
    {"cospi", f_cospi, SIGNED, 1, {{5, END}}},
    {"relu", f_relu, SIGNED, 1, {{7, END}}},
    {"tanh", f_tanh, SIGNED, 1, {{5, END}}},
    {"sigmoid", f_sigmoid, SIGNED, 1, {{5, END}}},
    {"gelu", f_gelu, SIGNED, 1, {{5, END}}},
    {"gelu_tanh", f_gelu_tanh, SIGNED, 1, {{5, END}}},
    {"silu", f_silu, SIGNED, 1, {{5, END}}},
    {"softplus", f_softplus, SIGNED, 1, {{5, END}}},
    {"relu_bwd", f_relu_squared, SIGNED, 1, {{7, END}}},
    {"tanh_bwd", f_tanh, SIGNED, 1, {{5, END}}},
    {"sigmoid_bwd", f_sigmoid, SIGNED, 1, {{5, END}}},
    {"gelu_bwd", f_gelu, SIGNED, 1, {{5, END}}},
    {"gelu_tanh_bwd", f_gelu_tanh, SIGNED, 1, {{5, END}}},
    {"silu_bwd", f_silu, SIGNED, 1, {{5, END}}},
    {"softplus_bwd", f_softplus, SIGNED, 1, {{5, END}}},
    {"sum", f_sum, SIGNED, 1, {{2, 3, 4, END}}},
    {"sum", f_sum_last, SIGNED, 1, {{2, 3, 4, END}}},
    {"mean", f_mean, SIGNED, 1, {{2, 3, 2, END}}},
    {"sum_squares", f_var, SIGNED, 1, {{2, 3, 2, END}}},
    {"prod", f_prod, SIGNED, 1, {{2, 3, END}}},
    {"amax", f_amax, SIGNED, 1, {{3, 4, END}}},
    {"amin", f_amin, SIGNED, 1, {{2, 3, 2, END}}},
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
    {"max_pool2d", f_max_pool, SIGNED, 1, {{1, 2, 4, 4, END}}},
    {"max_pool2d_bwd", f_max_pool_squared, SIGNED, 1, {{2, 1, 5, 4, END}}},
    {"avg_pool2d", f_avg_pool, SIGNED, 1, {{1, 2, 4, 3, END}}},
    {"avg_pool2d_bwd", f_global_pool_squared, SIGNED, 1, {{2, 2, 2, 3, END}}},
    {"avg_pool2d_bwd", f_avg_pool_squared, SIGNED, 1, {{1, 2, 4, 3, END}}},
    {"batch_norm", f_batch_norm, SIGNED, 3, {{2, 3, 2, 2, END}, {3, END}, {3, END}}},
    {"batch_norm", f_batch_norm, SIGNED, 3, {{4, 2, END}, {2, END}, {2, END}}},
    {"batch_norm", f_batch_norm, SIGNED, 3, {{2, 2, 3, END}, {2, END}, {2, END}}},
    {"batch_norm", f_batch_norm_fused, SIGNED, 4, {{1, 2, 2, 2, 2, END}, {2, END}, {2, END}, {1, 2, 2, 2, 2, END}}},
    {"batch_norm", f_batch_norm_eval, SIGNED, 3, {{2, 3, 2, 2, END}, {3, END}, {3, END}}},
    {"batch_norm", f_batch_norm_fused, SIGNED, 4, {{2, 3, 2, 2, END}, {3, END}, {3, END}, {2, 3, 2, 2, END}}},
    {"row_norm", f_layer_norm, SIGNED, 3, {{2, 3, 4, END}, {3, 4, END}, {3, 4, END}}},
    {"row_norm", f_layer_norm_plain, SIGNED, 1, {{5, 3, END}}},
    {"row_norm", f_rms_norm, SIGNED, 2, {{3, 5, END}, {5, END}}},
    {"row_norm", f_group_norm, SIGNED, 3, {{2, 4, 2, 3, END}, {4, END}, {4, END}}},
    {"row_norm", f_group_norm, SIGNED, 3, {{3, 6, END}, {6, END}, {6, END}}},
    {"row_norm", f_instance_norm, SIGNED, 2, {{2, 3, 4, END}, {3, END}}},
    {"dropout", f_dropout, SIGNED, 1, {{4, 5, END}}},
    {"softmax", f_softmax, SIGNED, 1, {{2, 4, END}}},
    {"softmax", f_softmax_first, SIGNED, 1, {{3, 2, END}}},
    {"log_softmax", f_log_softmax, SIGNED, 1, {{2, 3, 2, END}}},
    {"cross_entropy", f_cross_entropy, SIGNED, 1, {{4, 4, END}}},
    {"cross_entropy", f_cross_entropy_weighted, SIGNED, 1, {{4, 4, END}}},
    {"cross_entropy", f_cross_entropy_count, SIGNED, 1, {{3, 5, END}}},
    {"sum_squares", f_mse, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"reshape", f_reshape, SIGNED, 1, {{2, 3, 2, END}}},
    {"reshape", f_reshape_copy, SIGNED, 1, {{2, 3, 2, 2, END}}},
    {"permute", f_permute, SIGNED, 1, {{2, 3, 2, END}}},
    {"slice", f_slice, SIGNED, 1, {{2, 5, END}}},
    {"slice", f_select, SIGNED, 1, {{2, 3, 2, END}}},
    {"slice_bwd", f_slice_squared, SIGNED, 1, {{2, 5, END}}},
    {"expand", f_expand, SIGNED, 1, {{3, 1, END}}},
    {"copy", f_clone, SIGNED, 1, {{2, 3, END}}},
    {"cat", f_cat, SIGNED, 2, {{2, 1, 2, END}, {2, 2, 2, END}}},
    {"cat", f_stack, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
};
enum { N_CASES = sizeof cases / sizeof *cases };

/* ---- uneven numbers without a generator's help ---- */
static double fraction(uint64_t seed) {
  seed = (seed + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 29)) * 0x94d049bb133111ebu;
  return (double)(seed >> 40) * 0x1p-24;
}
static int64_t fill(double *values, const int64_t *shape, domain d, uint64_t seed, int *n_dims) {
  int64_t n = 1;
  for (*n_dims = 0; shape[*n_dims] != END; ++*n_dims) n *= shape[*n_dims];
  for (int64_t i = 0; i < n; i++) {
    const double size = 0.2 + 1.3 * fraction(seed * 1000 + (uint64_t)i);
    values[i] = d == SIGNED && fraction(seed * 777 + 31 * (uint64_t)i) < 0.5 ? -size : size;
  }
  return n;
}
/* Σ weights·t with weights of its own for each `seed`. */
static iso_tensor *weighted_sum(iso_context *ctx, const iso_tensor *t, uint64_t seed) {
  double weights[512];
  int64_t n = iso_tensor_numel(t);
  for (int64_t i = 0; i < n; i++) weights[i] = fraction(seed + 7 * (uint64_t)i) - 0.3;
  iso_tensor *c = iso_tensor_copy_from(ctx, ISO_F64, iso_tensor_n_dims(t), iso_tensor_shape(t), weights);
  return iso_sum_all(ctx, iso_mul(ctx, t, c));
}

/* ---- evaluating ---- */
typedef struct point {
  const gradient_case *c;
  double values[MAX_INPUTS][256];
  int64_t n[MAX_INPUTS];
  int n_dims[MAX_INPUTS];
} point;

static void make_inputs(iso_context *ctx, const point *p, iso_tensor **in) {
  for (int i = 0; i < p->c->n_inputs; i++)
    in[i] = iso_requires_grad(iso_tensor_copy_from(ctx, ISO_F64, p->n_dims[i], p->c->shapes[i], p->values[i]), true);
}

/* L, or L2 with its graph. */
static iso_tensor *scalar_of(iso_context *ctx, const point *p, iso_tensor *const *in, int order) {
  iso_tensor *loss = weighted_sum(ctx, p->c->f(ctx, in), 11);
  if (order == 1 || !loss) return loss;
  iso_tensor *grads[MAX_INPUTS], *total = NULL;
  const iso_tensor *outputs[] = {loss};
  iso_grad_of(1, outputs, NULL, p->c->n_inputs, (const iso_tensor *const *)in,
              &(iso_backward_options){.create_graph = true}, grads);
  for (int i = 0; i < p->c->n_inputs; i++) {
    if (!grads[i]) continue;
    iso_tensor *part = weighted_sum(ctx, grads[i], 23 + (uint64_t)i);
    total = total ? iso_add(ctx, total, part) : part;
  }
  return total;
}

static double value_at(iso_context *ctx, const point *p, int order) {
  double value = 0;
  iso_tensor *in[MAX_INPUTS];
  iso_scope_push(ctx);
  make_inputs(ctx, p, in);
  iso_tensor *loss = scalar_of(ctx, p, in, order);
  if (iso_error_code(ctx)) fail_msg("%s: %s", p->c->rule, iso_error_message(ctx));
  if (loss) assert_int_equal(iso_tensor_item(loss, &value), ISO_OK);
  iso_scope_pop(ctx);
  return value;
}

static bool on_tape(iso_context *ctx, const char *rule) {
  const iso__tape *tape = iso__tape_of(ctx);
  for (size_t i = 0; i < tape->n_nodes; i++)
    if (strcmp(tape->nodes[i]->rule->name, rule) == 0) return true;
  return false;
}

/* The analytic gradients at p into `grads`; whether the rule was recorded. False if L2 depends on nothing. */
static bool analytic(iso_context *ctx, const point *p, int order, double grads[MAX_INPUTS][256], bool *recorded) {
  iso_tensor *in[MAX_INPUTS];
  iso_scope_push(ctx);
  make_inputs(ctx, p, in);
  iso_tensor *loss = scalar_of(ctx, p, in, order);
  if (iso_error_code(ctx)) fail_msg("%s: %s", p->c->rule, iso_error_message(ctx));
  *recorded |= on_tape(ctx, p->c->rule);
  const bool depends = loss && iso_wants_grad(loss);
  if (depends && iso_backward(loss) != ISO_OK) fail_msg("%s: %s", p->c->rule, iso_error_message(ctx));
  for (int i = 0; i < p->c->n_inputs; i++) {
    iso_tensor *g = iso_grad(in[i]);
    memset(grads[i], 0, sizeof grads[i]);
    if (g) assert_int_equal(iso_tensor_copy_to(g, grads[i], (size_t)p->n[i] * sizeof(double)), ISO_OK);
  }
  iso_scope_pop(ctx);
  return depends;
}

static void check_order(iso_context *ctx, point *p, int order, bool *recorded) {
  static double grads[MAX_INPUTS][256];
  if (!analytic(ctx, p, order, grads, recorded)) return;
  const double h = 1e-5;
  for (int i = 0; i < p->c->n_inputs; i++)
    for (int64_t k = 0; k < p->n[i]; k++) {
      double *x = &p->values[i][k];
      const double middle = *x;
      *x = middle + h;
      const double above = value_at(ctx, p, order);
      *x = middle - h;
      const double below = value_at(ctx, p, order);
      *x = middle;
      const double expected = (above - below) / (2 * h), got = grads[i][k];
      if (!(fabs(got - expected) <= 1e-6 * (1 + fabs(expected))))
        fail_msg("%s, order %d, input %d, element %lld: %.12g, by differences %.12g", p->c->rule, order, i,
                 (long long)k, got, expected);
    }
}

static void test_case(void **state) {
  const gradient_case *c = *state;
  iso_policy policy;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  iso_context *ctx;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1, .policy = &policy}, &ctx), ISO_OK);
  static point p;
  p = (point){.c = c};
  for (int i = 0; i < c->n_inputs; i++)
    p.n[i] = fill(p.values[i], c->shapes[i], c->domain, 3 + (uint64_t)i, &p.n_dims[i]);
  bool recorded = false, twice = true;
  for (int i = 0; i < ISO__N_RULES; i++)
    if (strcmp(iso__rules[i].name, c->rule) == 0) twice = !iso__rules[i].once;
  check_order(ctx, &p, 1, &recorded);
  if (twice) check_order(ctx, &p, 2, &recorded);
  if (!recorded) fail_msg("%s was not recorded by its own case", c->rule);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  value_at(ctx, &p, 1);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live); /* nothing is left behind */
  iso_context_free(ctx);
}

static void test_every_row_has_a_case(void **state) {
  (void)state;
  for (int i = 0; i < ISO__N_RULES; i++) {
    bool found = false;
    for (int j = 0; j < N_CASES; j++) found |= strcmp(cases[j].rule, iso__rules[i].name) == 0;
    if (!found) fail_msg("ops.def's row %s has no case here", iso__rules[i].name);
  }
}

int main(void) {
  static struct CMUnitTest tests[N_CASES + 1];
  tests[0] = (struct CMUnitTest)cmocka_unit_test(test_every_row_has_a_case);
  for (int i = 0; i < N_CASES; i++)
    tests[i + 1] = (struct CMUnitTest){
        .name = cases[i].rule, .test_func = test_case, .initial_state = (void *)(uintptr_t)&cases[i]};
  return _cmocka_run_group_tests("gradients", tests, N_CASES + 1, NULL, NULL);
}
