/* vector_functions.h: real_functions.h over vectors of f32: the same steps, and so the same bits. */
#include "kernels/map/functions.h"
#include "numeric/math_f32.h"
#include "numeric/vec.h"

/* ---- functions whose vector form needs more than one expression: reference_body.h in vectors ---- */
VEC_FN vf fn_truth(vm m) { return vf_select(m, vf_set1(1), vf_zero()); }
VEC_FN vm fn_true(vf x) { return vm_not(vf_eq(x, vf_zero())); }
VEC_FN vf fn_clamp(vf x, vf low, vf high) { return vf_select(vf_lt(x, low), low, vf_select(vf_gt(x, high), high, x)); }
VEC_FN vf fn_sign(vf x) {
  return vf_select(vf_gt(x, vf_zero()), vf_set1(1), vf_select(vf_lt(x, vf_zero()), vf_set1(-1), x));
}
VEC_FN vf fn_power(vf x, float exponent) {
  if (!(rintf(exponent) == exponent && fabsf(exponent) <= ISO__MAP_LARGEST_INTEGER_POWER))
    return v_pow(x, vf_set1(exponent));
  vf result = vf_set1(1), square = x;
  for (int n = (int)fabsf(exponent); n; n >>= 1) {
    if (n & 1) result = vf_mul(result, square);
    if (n > 1) square = vf_mul(square, square);
  }
  return exponent < 0 ? vf_div(vf_set1(1), result) : result;
}
VEC_FN vf fn_ceil(vf x) { return vf_neg(vf_floor(vf_neg(x))); }
VEC_FN vf fn_trunc(vf x) { return vf_select(vf_lt(x, vf_zero()), fn_ceil(x), vf_floor(x)); }
VEC_FN vf fn_round_scaled(vf x, float scale, float divides) {
  const vf s = vf_set1(scale);
  return divides != 0 ? vf_mul(vf_rint(vf_div(x, s)), s) : vf_div(vf_rint(vf_mul(x, s)), s);
}

/* ---- by bits: real_bits.h says what these mean ---- */
VEC_FN vf fn_with_sign(vf x, vf sign) { return vf_copysign(x, vf_select(vf_isnan(sign), vf_set1(1), sign)); }
VEC_FN vm fn_sign_bit(vf x) { return vm_not(vf_eq(fn_with_sign(vf_set1(1), x), vf_set1(1))); }
VEC_FN vf fn_next(vf x, vf y) {
  const vm away = vf_eq(fn_truth(vf_lt(x, y)), fn_truth(vf_gt(x, vf_zero())));
  const vf next = vf_from_bits(vi_add(vf_bits(x), vi_select(away, vi_set1(1), vi_set1(-1))));
  const vf from_zero = vf_copysign(vf_set1(0x1p-149f), y);
  vf z = vf_select(vf_eq(x, vf_zero()), from_zero, next);
  z = vf_select(vf_eq(x, y), y, z);
  return vf_select(vf_unordered(x, y), vf_add(x, y), z);
}
/* Zeros, infinities and NaN. */
VEC_FN vm fn_has_no_exponent(vf x) { return vm_or(vf_eq(x, vf_zero()), vm_not(vf_lt(vf_abs(x), vf_set1(INFINITY)))); }
VEC_FN vf fn_normal(vf x) { return vf_select(vf_lt(vf_abs(x), vf_set1(0x1p-126f)), vf_mul(x, vf_set1(0x1p24f)), x); }
VEC_FN vf fn_mantissa(vf x) {
  const vi field = vi_set1(0xff << 23);
  const vf m = vf_from_bits(vi_or(vi_andnot(field, vf_bits(fn_normal(x))), vi_set1(126 << 23)));
  return vf_select(fn_has_no_exponent(x), x, m);
}
VEC_FN vf fn_exponent(vf x) {
  const vi field = vi_and(vi_srl(vf_bits(fn_normal(x)), 23), vi_set1(0xff));
  const vf shift = vf_select(vf_lt(vf_abs(x), vf_set1(0x1p-126f)), vf_set1(150), vf_set1(126));
  return vf_select(fn_has_no_exponent(x), vf_zero(), vf_sub(vf_from_vi(field), shift));
}

/* Lanes where a rest is not 0 and of another sign than b. */
VEC_FN vm fn_is_beside(vf rest, vf b) {
  const vm other = vm_not(vf_eq(fn_truth(vf_lt(rest, vf_zero())), fn_truth(vf_lt(b, vf_zero()))));
  return vm_and(vm_not(vf_eq(rest, vf_zero())), other);
}
VEC_FN vf fn_floor_quotient(vf a, vf b) {
  const vf rest = v_fmod(a, b), ratio = vf_div(a, b);
  vf quotient = vf_div(vf_sub(a, rest), b);
  quotient = vf_select(fn_is_beside(rest, b), vf_sub(quotient, vf_set1(1)), quotient);
  const vf whole = vf_floor(quotient);
  const vm above = vf_gt(vf_sub(quotient, whole), vf_set1(0.5f));
  const vf y = vf_select(above, vf_add(whole, vf_set1(1)), whole);
  return vf_select(vf_eq(b, vf_zero()), ratio, vf_select(vf_eq(quotient, vf_zero()), vf_copysign(vf_zero(), ratio), y));
}

/* ---- reference_body.h has these in words ---- */
VEC_FN vm fn_is_close(vf a, vf b, float relative, float absolute, float nan_equal) {
  const vf d = vf_abs(vf_sub(a, b)), most = vf_add(vf_set1(absolute), vf_abs(vf_mul(vf_set1(relative), b)));
  const vm near = vm_and(vf_lt(d, vf_set1(INFINITY)), vf_le(d, most));
  const vm equal = vm_or(vf_eq(a, b), near);
  return nan_equal != 0 ? vm_or(equal, vm_and(vf_isnan(a), vf_isnan(b))) : equal;
}
VEC_FN vf fn_nan_to_num(vf x, float nan, float above, float below) {
  x = vf_select(vf_eq(x, vf_set1(-INFINITY)), vf_set1(below),
                vf_select(vf_eq(x, vf_set1(INFINITY)), vf_set1(above), x));
  return vf_select(vf_isnan(x), vf_set1(nan), x);
}
VEC_FN vf fn_lerp(vf a, vf b, vf w) {
  const vf d = vf_sub(b, a);
  return vf_select(vf_lt(vf_abs(w), vf_set1(0.5f)), vf_fma(w, d, a), vf_fnma(d, vf_sub(vf_set1(1), w), b));
}
VEC_FN vf fn_log_add_exp2(vf a, vf b) {
  const vf m = vf_max_nan(a, b), e = v_exp2(vf_neg(vf_abs(vf_sub(a, b))));
  const vf more = vf_mul(v_log1p(e), vf_set1(0x1.71547652b82fep+0f));
  return vf_select(vf_eq(vf_abs(m), vf_set1(INFINITY)), m, vf_add(m, more));
}
VEC_FN vf fn_logit(vf x) {
  const vf rest = vf_sub(vf_set1(1), x);
  const vf near = v_log1p(vf_div(vf_sub(vf_mul(vf_set1(2), x), vf_set1(1)), rest));
  return vf_select(vf_lt(x, vf_set1(0.25f)), v_log(vf_div(x, rest)), near);
}
VEC_FN vf fn_times_log(vf a, vf b, vf log) {
  return vf_select(vf_isnan(b), b, vf_select(vf_eq(a, vf_zero()), vf_zero(), vf_mul(a, log)));
}
VEC_FN vf fn_entr(vf x) {
  const vf rest = vf_select(vf_eq(x, vf_zero()), vf_zero(), vf_select(vf_isnan(x), x, vf_set1(-INFINITY)));
  return vf_select(vf_gt(x, vf_zero()), vf_mul(vf_neg(x), v_log(x)), rest);
}
VEC_FN vf fn_sinc(vf x) {
  const vf y = vf_div(v_sinpi(x), vf_mul(vf_set1(0x1.921fb54442d18p+1f), x));
  return vf_select(vf_eq(x, vf_zero()), vf_set1(1), y);
}

/* ---- activations ---- */
VEC_FN vf fn_six(vf x) { return fn_clamp(vf_add(x, vf_set1(3)), vf_zero(), vf_set1(6)); }
VEC_FN vf fn_elu(vf x, float below, float above, float inner) {
  const vf e = vf_mul(v_expm1(vf_mul(x, vf_set1(inner))), vf_set1(below));
  return vf_select(vf_gt(x, vf_zero()), vf_mul(x, vf_set1(above)), e);
}
VEC_FN vf fn_elu_grad(vf x, vf dy, float below, float above, float inner) {
  const vf e = vf_mul(vf_mul(vf_set1(below), vf_set1(inner)), v_exp(vf_mul(x, vf_set1(inner))));
  return vf_select(vf_gt(x, vf_zero()), vf_mul(dy, vf_set1(above)), vf_mul(dy, e));
}
VEC_FN vf fn_unless_small(vf x, float size, vf value) {
  return vf_select(vm_and(vf_ge(x, vf_set1(-size)), vf_le(x, vf_set1(size))), vf_zero(), value);
}
VEC_FN vf fn_softshrink(vf x, float size) {
  const vf s = vf_set1(size), small = vf_select(vf_isnan(x), x, vf_zero());
  return vf_select(vf_gt(x, s), vf_sub(x, s), vf_select(vf_lt(x, vf_set1(-size)), vf_add(x, s), small));
}
VEC_FN vf fn_softplus_scaled(vf x, float beta, float threshold) {
  const vf z = vf_mul(x, vf_set1(beta));
  return vf_select(vf_gt(z, vf_set1(threshold)), x, vf_div(v_softplus(z), vf_set1(beta)));
}
VEC_FN vf fn_softplus_scaled_grad(vf x, vf dy, float beta, float threshold) {
  const vf z = vf_mul(x, vf_set1(beta));
  return vf_select(vf_gt(z, vf_set1(threshold)), dy, vf_mul(dy, v_sigmoid(z)));
}
VEC_FN vf fn_if_within(vf x, float low, float high, vf value) {
  return vf_select(vm_and(vf_ge(x, vf_set1(low)), vf_le(x, vf_set1(high))), value, vf_zero());
}
VEC_FN vf fn_unless_beyond(vf x, float low, float high, vf value) {
  return vf_select(vm_or(vf_le(x, vf_set1(low)), vf_ge(x, vf_set1(high))), vf_zero(), value);
}
VEC_FN vf fn_hardswish_grad(vf x, vf dy) {
  const vf slope = vf_mul(dy, vf_add(vf_div(x, vf_set1(3)), vf_set1(0.5f)));
  return vf_select(vf_le(x, vf_set1(-3)), vf_zero(), vf_select(vf_ge(x, vf_set1(3)), dy, slope));
}
VEC_FN vf fn_softsign_grad(vf x, vf dy) {
  const vf d = vf_add(vf_set1(1), vf_abs(x));
  return vf_div(dy, vf_mul(d, d));
}
VEC_FN vf fn_glu_grad(vf a, vf b, vf dy) {
  const vf s = v_sigmoid(b);
  return vf_mul(vf_mul(dy, a), vf_mul(s, vf_sub(vf_set1(1), s)));
}

/* ---- one expression a function: a, b, c vectors; s0, s1, s2 scalars ---- */
/* clang-format off */
#define VECTOR_FUNCTIONS(X)                                                                                                 \
  X(ADD, vf_add(a, b))                                                                                                 \
  X(SUB, vf_sub(a, b))                                                                                                 \
  X(MUL, vf_mul(a, b))                                                                                                 \
  X(DIV, vf_div(a, b))                                                                                                 \
  X(MAXIMUM, vf_max_nan(a, b))                                                                                         \
  X(MINIMUM, vf_min_nan(a, b))                                                                                         \
  X(POW, v_pow(a, b))                                                                                                  \
  X(EQ, fn_truth(vf_eq(a, b)))                                                                                         \
  X(LT, fn_truth(vf_lt(a, b)))                                                                                         \
  X(LE, fn_truth(vf_le(a, b)))                                                                                         \
  X(NE, fn_truth(vm_not(vf_eq(a, b))))                                                                                 \
  X(LOGICAL_AND, fn_truth(vm_and(fn_true(a), fn_true(b))))                                                             \
  X(LOGICAL_OR, fn_truth(vm_or(fn_true(a), fn_true(b))))                                                               \
  X(LOGICAL_XOR, vf_abs(vf_sub(fn_truth(fn_true(a)), fn_truth(fn_true(b)))))                                           \
  X(LOGICAL_NOT, fn_truth(vf_eq(a, vf_zero())))                                                                        \
  X(NONZERO, fn_truth(fn_true(a)))                                                                                     \
  X(ISNAN, fn_truth(vf_isnan(a)))                                                                                      \
  X(ISINF, fn_truth(vf_eq(vf_abs(a), vf_set1(INFINITY))))                                                              \
  X(ISFINITE, fn_truth(vf_lt(vf_abs(a), vf_set1(INFINITY))))                                                           \
  X(WHERE, vf_select(vf_eq(a, vf_zero()), c, b))                                                                       \
  X(ADD_SCALAR, vf_add(a, vf_set1(s0)))                                                                                \
  X(MUL_SCALAR, vf_mul(a, vf_set1(s0)))                                                                                \
  X(RSUB_SCALAR, vf_sub(vf_set1(s0), a))                                                                               \
  X(RDIV_SCALAR, vf_div(vf_set1(s0), a))                                                                               \
  X(POW_SCALAR, fn_power(a, s0))                                                                                       \
  X(CLAMP, fn_clamp(a, vf_set1(s0), vf_set1(s1)))                                                                      \
  X(FMA, vf_fma(a, b, c))                                                                                              \
  X(FMA_SCALAR, vf_fma(a, vf_set1(s0), b))                                                                             \
  X(COPY, a)                                                                                                           \
  X(NEG, vf_neg(a))                                                                                                    \
  X(ABS, vf_abs(a))                                                                                                    \
  X(SIGN, fn_sign(a))                                                                                                  \
  X(SQUARE, vf_mul(a, a))                                                                                              \
  X(SQRT, vf_sqrt(a))                                                                                                  \
  X(RSQRT, v_rsqrt(a))                                                                                                 \
  X(RECIPROCAL, vf_div(vf_set1(1), a))                                                                                 \
  X(EXP, v_exp(a))                                                                                                     \
  X(EXP2, v_exp2(a))                                                                                                   \
  X(EXPM1, v_expm1(a))                                                                                                 \
  X(LOG, v_log(a))                                                                                                     \
  X(LOG2, v_log2(a))                                                                                                   \
  X(LOG1P, v_log1p(a))                                                                                                 \
  X(ERF, v_erf(a))                                                                                                     \
  X(TANH, v_tanh(a))                                                                                                   \
  X(SIGMOID, v_sigmoid(a))                                                                                             \
  X(SINPI, v_sinpi(a))                                                                                                 \
  X(COSPI, v_cospi(a))                                                                                                 \
  X(RELU, vf_relu(a))                                                                                                  \
  X(GELU, v_gelu(a))                                                                                                   \
  X(GELU_TANH, v_gelu_tanh(a))                                                                                         \
  X(SILU, v_silu(a))                                                                                                   \
  X(SOFTPLUS, v_softplus(a))                                                                                           \
  X(RELU_BWD, vf_relu_gradient(a, b))                                                                                  \
  X(TANH_BWD, vf_mul(b, vf_fnma(a, a, vf_set1(1))))                                                                    \
  X(SIGMOID_BWD, vf_mul(b, vf_mul(a, vf_sub(vf_set1(1), a))))                                                          \
  X(GELU_BWD, vf_mul(b, v_gelu_grad(a)))                                                                               \
  X(GELU_TANH_BWD, vf_mul(b, v_gelu_tanh_grad(a)))                                                                     \
  X(SILU_BWD, vf_mul(b, v_silu_grad(a)))                                                                               \
  X(SOFTPLUS_BWD, vf_mul(b, v_sigmoid(a)))                                                                             \
  X(ADD_RELU, vf_relu(vf_add(a, b)))                                                                                  \
  X(SIGNBIT, fn_truth(fn_sign_bit(a)))                                                                                \
  X(FLOOR_DIV, fn_floor_quotient(a, b))                                                                               \
  X(REMAINDER, v_remainder(a, b))                                                                                     \
  X(TRUNC_DIV, fn_trunc(vf_div(a, b)))                                                                                \
  X(FMOD, v_fmod(a, b))                                                                                               \
  X(HYPOT, v_hypot(a, b))                                                                                             \
  X(ISPOSINF, fn_truth(vf_eq(a, vf_set1(INFINITY))))                                                                  \
  X(ISNEGINF, fn_truth(vf_eq(a, vf_set1(-INFINITY))))                                                                 \
  X(ISCLOSE, fn_truth(fn_is_close(a, b, s0, s1, s2)))                                                                 \
  X(FLOOR, vf_floor(a))                                                                                               \
  X(CEIL, fn_ceil(a))                                                                                                 \
  X(TRUNC, fn_trunc(a))                                                                                               \
  X(ROUND, vf_rint(a))                                                                                                \
  X(ROUND_SCALED, fn_round_scaled(a, s0, s1))                                                                         \
  X(FRAC, vf_sub(a, fn_trunc(a)))                                                                                     \
  X(COPYSIGN, fn_with_sign(a, b))                                                                                     \
  X(NEXTAFTER, fn_next(a, b))                                                                                         \
  X(MANTISSA, fn_mantissa(a))                                                                                         \
  X(EXPONENT, fn_exponent(a))                                                                                         \
  X(NAN_TO_NUM, fn_nan_to_num(a, s0, s1, s2))                                                                         \
  X(FMAX, vf_select(vf_isnan(b), a, vf_max(a, b)))                                                                    \
  X(FMIN, vf_select(vf_isnan(b), a, vf_min(a, b)))                                                                    \
  X(HEAVISIDE, vf_select(vf_eq(a, vf_zero()), b, fn_truth(vf_gt(a, vf_zero()))))                                      \
  X(LERP, fn_lerp(a, b, c))                                                                                           \
  X(LERP_SCALAR, fn_lerp(a, b, vf_set1(s0)))                                                                          \
  X(ADDCMUL, vf_add(a, vf_mul(vf_mul(vf_set1(s0), b), c)))                                                            \
  X(ADDCDIV, vf_add(a, vf_div(vf_mul(vf_set1(s0), b), c)))                                                            \
  X(LOGADDEXP, v_logaddexp(a, b))                                                                                     \
  X(LOGADDEXP2, fn_log_add_exp2(a, b))                                                                                \
  X(LOGIT, fn_logit(a))                                                                                               \
  X(XLOGY, fn_times_log(a, b, v_log(b)))                                                                              \
  X(XLOG1PY, fn_times_log(a, b, v_log1p(b)))                                                                          \
  X(ENTR, fn_entr(a))                                                                                                 \
  X(SINC, fn_sinc(a))                                                                                                 \
  X(LEAKY_RELU, vf_select(vf_gt(a, vf_zero()), a, vf_mul(a, vf_set1(s0))))                                            \
  X(PRELU, vf_select(vf_gt(a, vf_zero()), a, vf_mul(a, b)))                                                           \
  X(ELU, fn_elu(a, s0, s1, s2))                                                                                       \
  X(HARDSWISH, vf_div(vf_mul(a, fn_six(a)), vf_set1(6)))                                                              \
  X(HARDSIGMOID, vf_div(fn_six(a), vf_set1(6)))                                                                       \
  X(HARDSHRINK, fn_unless_small(a, s0, a))                                                                            \
  X(SOFTSHRINK, fn_softshrink(a, s0))                                                                                 \
  X(THRESHOLD, vf_select(vf_le(a, vf_set1(s0)), vf_set1(s1), a))                                                      \
  X(SOFTPLUS_SCALED, fn_softplus_scaled(a, s0, s1))                                                                   \
  X(SOFTSIGN, vf_div(a, vf_add(vf_set1(1), vf_abs(a))))                                                               \
  X(LOGSIGMOID, v_log_sigmoid(a))                                                                                     \
  X(MISH, v_mish(a))                                                                                                  \
  X(GLU, vf_mul(a, v_sigmoid(b)))                                                                                     \
  X(SWIGLU, vf_mul(v_silu(a), b))                                                                                     \
  X(GEGLU, vf_mul(v_gelu(a), b))                                                                                      \
  X(GEGLU_TANH, vf_mul(v_gelu_tanh(a), b))                                                                            \
  X(CLAMP_BWD, fn_if_within(a, s0, s1, b))                                                                            \
  X(HARDTANH_BWD, fn_unless_beyond(a, s0, s1, b))                                                                     \
  X(LEAKY_RELU_BWD, vf_select(vf_gt(a, vf_zero()), b, vf_mul(b, vf_set1(s0))))                                        \
  X(ELU_BWD, fn_elu_grad(a, b, s0, s1, s2))                                                                           \
  X(HARDSWISH_BWD, fn_hardswish_grad(a, b))                                                                           \
  X(HARDSIGMOID_BWD, fn_unless_beyond(a, -3, 3, vf_div(b, vf_set1(6))))                                               \
  X(SHRINK_BWD, fn_unless_small(a, s0, b))                                                                            \
  X(THRESHOLD_BWD, vf_select(vf_le(a, vf_set1(s0)), vf_zero(), b))                                                    \
  X(SOFTPLUS_SCALED_BWD, fn_softplus_scaled_grad(a, b, s0, s1))                                                       \
  X(SOFTSIGN_BWD, fn_softsign_grad(a, b))                                                                             \
  X(LOGSIGMOID_BWD, vf_mul(b, v_sigmoid(vf_neg(a))))                                                                  \
  X(MISH_BWD, vf_mul(b, v_mish_grad(a)))                                                                              \
  X(GLU_BWD, fn_glu_grad(a, b, c))                                                                                    \
  X(SWIGLU_BWD, vf_mul(vf_mul(c, b), v_silu_grad(a)))                                                                 \
  X(GEGLU_BWD, vf_mul(vf_mul(c, b), v_gelu_grad(a)))                                                                  \
  X(GEGLU_TANH_BWD, vf_mul(vf_mul(c, b), v_gelu_tanh_grad(a)))                                                        \
  X(SIN, v_sin(a))                                                                                                    \
  X(COS, v_cos(a))                                                                                                    \
  X(TAN, v_tan(a))                                                                                                    \
  X(ASIN, v_asin(a))                                                                                                  \
  X(ACOS, v_acos(a))                                                                                                  \
  X(ATAN, v_atan(a))                                                                                                  \
  X(SINH, v_sinh(a))                                                                                                  \
  X(COSH, v_cosh(a))                                                                                                  \
  X(ASINH, v_asinh(a))                                                                                                \
  X(ACOSH, v_acosh(a))                                                                                                \
  X(ATANH, v_atanh(a))                                                                                                \
  X(LOG10, v_log10(a))                                                                                                \
  X(ERFC, v_erfc(a))                                                                                                  \
  X(ATAN2, v_atan2(a, b))                                                                                           \
  X(LGAMMA, v_lgamma(a))                                                                                            \
  X(DIGAMMA, v_digamma(a))                                                                                          \
  X(TRIGAMMA, v_trigamma(a))                                                                                        \
  X(ERFINV, v_erfinv(a))                                                                                            \
  X(NDTRI, v_ndtri(a))                                                                                              \
  X(I0, v_i0(a))                                                                                                    \
  X(I0E, v_i0e(a))                                                                                                  \
  X(I1, v_i1(a))                                                                                                    \
  X(I1E, v_i1e(a))
/* clang-format on */
