/* pointwise.c: gradient cases of ops/pointwise; gradients.h explains them. */
#include "ops/gradients/gradients.h"

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
/* Linear in their input, so that their gradient operators are only recorded under something that is not. */
static iso_tensor *f_relu_squared(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, f_relu(ctx, in)); }
#undef A
#undef B

const gradient_case iso__gradients_pointwise[] = {{"add", f_add, SIGNED, 2, {{2, 3, END}, {3, END}}},
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
                                                  {NULL}};
