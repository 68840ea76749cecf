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
static iso_tensor *f_steps(iso_context *ctx, iso_tensor *const *in) { return iso_add(ctx, iso_floor(ctx, A), A); }
static iso_tensor *f_steps2(iso_context *ctx, iso_tensor *const *in) {
  return iso_add(ctx, iso_floor_divide(ctx, A, B), iso_mul(ctx, A, B));
}
static iso_tensor *f_frac(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, iso_frac(ctx, A)); }
static iso_tensor *f_frexp(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, iso_frexp(ctx, A, NULL)); }
static iso_tensor *f_remainder(iso_context *ctx, iso_tensor *const *in) { return iso_remainder(ctx, A, B); }
static iso_tensor *f_fmod(iso_context *ctx, iso_tensor *const *in) { return iso_fmod(ctx, A, B); }
static iso_tensor *f_add_scaled(iso_context *ctx, iso_tensor *const *in) { return iso_add_scaled(ctx, A, B, -1.25); }
static iso_tensor *f_copysign(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_copysign(ctx, A, B));
}
static iso_tensor *f_nextafter(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_nextafter(ctx, A, B));
}
static iso_tensor *f_fmax(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, iso_fmax(ctx, A, B)); }
static iso_tensor *f_fmin(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, iso_fmin(ctx, A, B)); }
static iso_tensor *f_clamp_min(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_clamp_min(ctx, A, B));
}
static iso_tensor *f_clamp_max(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_clamp_max(ctx, A, B));
}
static iso_tensor *f_lerp(iso_context *ctx, iso_tensor *const *in) { return iso_lerp(ctx, A, B, in[2]); }
static iso_tensor *f_lerp_scalar(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_lerp_scalar(ctx, A, B, 0.7));
}
static iso_tensor *f_addcmul(iso_context *ctx, iso_tensor *const *in) { return iso_addcmul(ctx, A, B, in[2], 0.75); }
static iso_tensor *f_addcdiv(iso_context *ctx, iso_tensor *const *in) { return iso_addcdiv(ctx, A, B, in[2], 0.75); }
static iso_tensor *f_logaddexp(iso_context *ctx, iso_tensor *const *in) { return iso_logaddexp(ctx, A, B); }
static iso_tensor *f_logaddexp2(iso_context *ctx, iso_tensor *const *in) { return iso_logaddexp2(ctx, A, B); }
static iso_tensor *f_xlogy(iso_context *ctx, iso_tensor *const *in) { return iso_xlogy(ctx, A, B); }
static iso_tensor *f_xlog1py(iso_context *ctx, iso_tensor *const *in) { return iso_xlog1py(ctx, A, B); }
static iso_tensor *f_hypot(iso_context *ctx, iso_tensor *const *in) { return iso_hypot(ctx, A, B); }
static iso_tensor *f_logit(iso_context *ctx, iso_tensor *const *in) {
  return iso_logit(ctx, iso_mul_scalar(ctx, A, 0.5));
}
static iso_tensor *f_entr(iso_context *ctx, iso_tensor *const *in) { return iso_entr(ctx, A); }
static iso_tensor *f_sinc(iso_context *ctx, iso_tensor *const *in) { return iso_sinc(ctx, A); }
static iso_tensor *f_nan_to_num(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_nan_to_num(ctx, A, 0, 1, 2));
}
static iso_tensor *f_clamp_bwd(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_clamp(ctx, A, -0.8, 0.9));
}
static iso_tensor *f_softplus_beta(iso_context *ctx, iso_tensor *const *in) {
  return iso_softplus_beta(ctx, A, 1.5, 2);
}
static iso_tensor *f_logsigmoid(iso_context *ctx, iso_tensor *const *in) { return iso_logsigmoid(ctx, A); }
static iso_tensor *f_softsign(iso_context *ctx, iso_tensor *const *in) { return iso_softsign(ctx, A); }
static iso_tensor *f_mish(iso_context *ctx, iso_tensor *const *in) { return iso_mish(ctx, A); }
static iso_tensor *f_elu(iso_context *ctx, iso_tensor *const *in) { return iso_elu(ctx, A, 1.3); }
static iso_tensor *f_hardswish(iso_context *ctx, iso_tensor *const *in) {
  return iso_hardswish(ctx, iso_mul_scalar(ctx, A, 3));
}
static iso_tensor *f_hardtanh(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_hardtanh(ctx, A, -0.7, 0.9));
}
static iso_tensor *f_leaky_relu(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_leaky_relu(ctx, A, 0.1));
}
static iso_tensor *f_hardsigmoid(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_hardsigmoid(ctx, iso_mul_scalar(ctx, A, 3)));
}
static iso_tensor *f_hardshrink(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_hardshrink(ctx, A, 0.6));
}
static iso_tensor *f_softshrink(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_softshrink(ctx, A, 0.6));
}
static iso_tensor *f_threshold(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_threshold(ctx, A, 0.4, 2));
}
static iso_tensor *f_celu(iso_context *ctx, iso_tensor *const *in) { return iso_celu(ctx, A, 0.6); }
static iso_tensor *f_selu(iso_context *ctx, iso_tensor *const *in) { return iso_selu(ctx, A); }
static iso_tensor *f_prelu(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, iso_prelu(ctx, A, B)); }
static iso_tensor *f_glu(iso_context *ctx, iso_tensor *const *in) { return iso_glu(ctx, A, -1); }
static iso_tensor *f_swiglu(iso_context *ctx, iso_tensor *const *in) { return iso_swiglu(ctx, A, B); }
static iso_tensor *f_geglu(iso_context *ctx, iso_tensor *const *in) { return iso_geglu(ctx, A, B); }
static iso_tensor *f_geglu_tanh(iso_context *ctx, iso_tensor *const *in) { return iso_geglu_tanh(ctx, A, B); }
static iso_tensor *f_sin(iso_context *ctx, iso_tensor *const *in) { return iso_sin(ctx, A); }
static iso_tensor *f_cos(iso_context *ctx, iso_tensor *const *in) { return iso_cos(ctx, A); }
static iso_tensor *f_tan(iso_context *ctx, iso_tensor *const *in) { return iso_tan(ctx, A); }
static iso_tensor *f_asin(iso_context *ctx, iso_tensor *const *in) {
  return iso_asin(ctx, iso_mul_scalar(ctx, A, 0.5));
}
static iso_tensor *f_acos(iso_context *ctx, iso_tensor *const *in) {
  return iso_acos(ctx, iso_mul_scalar(ctx, A, 0.5));
}
static iso_tensor *f_atan(iso_context *ctx, iso_tensor *const *in) { return iso_atan(ctx, A); }
static iso_tensor *f_sinh(iso_context *ctx, iso_tensor *const *in) { return iso_sinh(ctx, A); }
static iso_tensor *f_cosh(iso_context *ctx, iso_tensor *const *in) { return iso_cosh(ctx, A); }
static iso_tensor *f_asinh(iso_context *ctx, iso_tensor *const *in) { return iso_asinh(ctx, A); }
static iso_tensor *f_acosh(iso_context *ctx, iso_tensor *const *in) {
  return iso_acosh(ctx, iso_add_scalar(ctx, A, 1));
}
static iso_tensor *f_atanh(iso_context *ctx, iso_tensor *const *in) {
  return iso_atanh(ctx, iso_mul_scalar(ctx, A, 0.5));
}
static iso_tensor *f_log10(iso_context *ctx, iso_tensor *const *in) { return iso_log10(ctx, A); }
static iso_tensor *f_erfc(iso_context *ctx, iso_tensor *const *in) { return iso_erfc(ctx, A); }
static iso_tensor *f_atan2(iso_context *ctx, iso_tensor *const *in) { return iso_atan2(ctx, A, B); }
static iso_tensor *f_lgamma(iso_context *ctx, iso_tensor *const *in) { return iso_lgamma(ctx, A); }
static iso_tensor *f_digamma(iso_context *ctx, iso_tensor *const *in) { return iso_digamma(ctx, A); }
static iso_tensor *f_trigamma(iso_context *ctx, iso_tensor *const *in) { return iso_trigamma(ctx, A); }
static iso_tensor *f_erfinv(iso_context *ctx, iso_tensor *const *in) {
  return iso_erfinv(ctx, iso_mul_scalar(ctx, A, 0.4));
}
static iso_tensor *f_ndtri(iso_context *ctx, iso_tensor *const *in) {
  return iso_ndtri(ctx, iso_mul_scalar(ctx, A, 0.4));
}
static iso_tensor *f_i0(iso_context *ctx, iso_tensor *const *in) { return iso_i0(ctx, A); }
static iso_tensor *f_i0e(iso_context *ctx, iso_tensor *const *in) { return iso_i0e(ctx, A); }
static iso_tensor *f_i1(iso_context *ctx, iso_tensor *const *in) { return iso_i1(ctx, A); }
static iso_tensor *f_i1e(iso_context *ctx, iso_tensor *const *in) { return iso_i1e(ctx, A); }
static iso_tensor *f_chain(iso_context *ctx, iso_tensor *const *in) {
  return iso_chain(ctx, "mul(tanh(relu(add(mul(a, b), mul_scalar(c, s0)))), a)", 3,
                   (const iso_tensor *const[]){A, B, in[2]}, 1, (const double[]){0.75});
}
/* Linear in their input, so that their gradient operators are only recorded under something that is not. */
static iso_tensor *f_relu_squared(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, f_relu(ctx, in)); }
#undef A
#undef B

const gradient_case iso__gradients_pointwise[] = {
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
    {"steps", f_steps, SIGNED, 1, {{5, END}}},
    {"steps2", f_steps2, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"frac", f_frac, SIGNED, 1, {{5, END}}},
    {"frexp", f_frexp, SIGNED, 1, {{5, END}}},
    {"remainder", f_remainder, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"fmod", f_fmod, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"add_scaled", f_add_scaled, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"copysign", f_copysign, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"nextafter", f_nextafter, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"fmax", f_fmax, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"fmin", f_fmin, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"clamp_min", f_clamp_min, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"clamp_max", f_clamp_max, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"lerp", f_lerp, SIGNED, 3, {{2, 3, END}, {3, END}, {2, 1, END}}},
    {"lerp_scalar", f_lerp_scalar, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"addcmul", f_addcmul, SIGNED, 3, {{2, 3, END}, {3, END}, {2, 1, END}}},
    {"addcdiv", f_addcdiv, SIGNED, 3, {{2, 3, END}, {3, END}, {2, 1, END}}},
    {"logaddexp", f_logaddexp, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"logaddexp2", f_logaddexp2, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"xlogy", f_xlogy, POSITIVE, 2, {{2, 3, END}, {3, END}}},
    {"xlog1py", f_xlog1py, POSITIVE, 2, {{2, 3, END}, {3, END}}},
    {"hypot", f_hypot, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"logit", f_logit, POSITIVE, 1, {{5, END}}},
    {"entr", f_entr, POSITIVE, 1, {{5, END}}},
    {"sinc", f_sinc, SIGNED, 1, {{5, END}}},
    {"nan_to_num", f_nan_to_num, SIGNED, 1, {{5, END}}},
    {"clamp_bwd", f_clamp_bwd, SIGNED, 1, {{9, END}}},
    {"softplus_beta", f_softplus_beta, SIGNED, 1, {{9, END}}},
    {"softplus_beta_bwd", f_softplus_beta, SIGNED, 1, {{9, END}}},
    {"logsigmoid", f_logsigmoid, SIGNED, 1, {{9, END}}},
    {"logsigmoid_bwd", f_logsigmoid, SIGNED, 1, {{9, END}}},
    {"softsign", f_softsign, SIGNED, 1, {{9, END}}},
    {"softsign_bwd", f_softsign, SIGNED, 1, {{9, END}}},
    {"mish", f_mish, SIGNED, 1, {{9, END}}},
    {"mish_bwd", f_mish, SIGNED, 1, {{9, END}}},
    {"elu", f_elu, SIGNED, 1, {{9, END}}},
    {"elu_bwd", f_elu, SIGNED, 1, {{9, END}}},
    {"hardswish", f_hardswish, SIGNED, 1, {{9, END}}},
    {"hardswish_bwd", f_hardswish, SIGNED, 1, {{9, END}}},
    {"hardtanh", f_hardtanh, SIGNED, 1, {{9, END}}},
    {"hardtanh_bwd", f_hardtanh, SIGNED, 1, {{9, END}}},
    {"leaky_relu", f_leaky_relu, SIGNED, 1, {{9, END}}},
    {"leaky_relu_bwd", f_leaky_relu, SIGNED, 1, {{9, END}}},
    {"hardsigmoid", f_hardsigmoid, SIGNED, 1, {{9, END}}},
    {"hardsigmoid_bwd", f_hardsigmoid, SIGNED, 1, {{9, END}}},
    {"hardshrink", f_hardshrink, SIGNED, 1, {{9, END}}},
    {"hardshrink_bwd", f_hardshrink, SIGNED, 1, {{9, END}}},
    {"softshrink", f_softshrink, SIGNED, 1, {{9, END}}},
    {"softshrink_bwd", f_softshrink, SIGNED, 1, {{9, END}}},
    {"threshold", f_threshold, SIGNED, 1, {{9, END}}},
    {"threshold_bwd", f_threshold, SIGNED, 1, {{9, END}}},
    {"elu", f_celu, SIGNED, 1, {{5, END}}},
    {"elu", f_selu, SIGNED, 1, {{5, END}}},
    {"prelu", f_prelu, SIGNED, 2, {{2, 3, 2, END}, {3, END}}},
    {"glu", f_glu, SIGNED, 1, {{3, 4, END}}},
    {"glu_bwd", f_glu, SIGNED, 1, {{3, 4, END}}},
    {"swiglu", f_swiglu, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"swiglu_bwd", f_swiglu, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"geglu", f_geglu, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"geglu_bwd", f_geglu, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"geglu_tanh", f_geglu_tanh, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"geglu_tanh_bwd", f_geglu_tanh, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"sin", f_sin, SIGNED, 1, {{5, END}}},
    {"cos", f_cos, SIGNED, 1, {{5, END}}},
    {"tan", f_tan, SIGNED, 1, {{5, END}}},
    {"asin", f_asin, SIGNED, 1, {{5, END}}},
    {"acos", f_acos, SIGNED, 1, {{5, END}}},
    {"atan", f_atan, SIGNED, 1, {{5, END}}},
    {"sinh", f_sinh, SIGNED, 1, {{5, END}}},
    {"cosh", f_cosh, SIGNED, 1, {{5, END}}},
    {"asinh", f_asinh, SIGNED, 1, {{5, END}}},
    {"acosh", f_acosh, POSITIVE, 1, {{5, END}}},
    {"atanh", f_atanh, SIGNED, 1, {{5, END}}},
    {"log10", f_log10, POSITIVE, 1, {{5, END}}},
    {"erfc", f_erfc, SIGNED, 1, {{5, END}}},
    {"atan2", f_atan2, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"lgamma", f_lgamma, SIGNED, 1, {{5, END}}},
    {"digamma", f_digamma, SIGNED, 1, {{5, END}}},
    {"trigamma", f_trigamma, SIGNED, 1, {{5, END}}},
    {"erfinv", f_erfinv, SIGNED, 1, {{5, END}}},
    {"ndtri", f_ndtri, POSITIVE, 1, {{5, END}}},
    {"i0", f_i0, SIGNED, 1, {{5, END}}},
    {"i0e", f_i0e, SIGNED, 1, {{5, END}}},
    {"i1", f_i1, SIGNED, 1, {{5, END}}},
    {"i1e", f_i1e, SIGNED, 1, {{5, END}}},
    {"digamma", f_digamma, POSITIVE, 1, {{5, END}}},
    {"trigamma", f_trigamma, POSITIVE, 1, {{5, END}}},
    {"chain", f_chain, SIGNED, 3, {{2, 3, END}, {3, END}, {2, 1, END}}},
    {NULL}};
