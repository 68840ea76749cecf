/* ops/pointwise.h: pointwise functions. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_POINTWISE_H
#define ISOBIT_OPS_POINTWISE_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- pointwise, with broadcasting; gradients are summed back to each input's shape ---- */
ISO_API iso_tensor *iso_add(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_sub(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_mul(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_div(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_pow(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* NaN if either is; the gradient goes to the chosen one, of equals half to each. */
ISO_API iso_tensor *iso_maximum(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_minimum(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* relu(a + b), the two roundings of the separate operators. */
ISO_API iso_tensor *iso_add_relu(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* bool; no gradient. Of any one dtype; a NaN is neither less, equal nor greater. */
ISO_API iso_tensor *iso_eq(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_ne(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_lt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_le(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_gt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_ge(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* bool: whether the element is a NaN, an infinity, neither. Integers are finite. */
ISO_API iso_tensor *iso_isnan(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_isinf(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_isfinite(iso_context *ctx, const iso_tensor *x);
/* bool, of any dtypes: what is not 0 is true, a NaN too. */
ISO_API iso_tensor *iso_logical_and(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_logical_or(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_logical_xor(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_logical_not(iso_context *ctx, const iso_tensor *x);
/* Of integers, and the first four of bool. Left shifts by less than 0 or by all bits give 0; right shifts keep the
 * sign, and such counts leave nothing else. */
ISO_API iso_tensor *iso_bitwise_and(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_bitwise_or(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_bitwise_xor(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_bitwise_not(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_bitwise_left_shift(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_bitwise_right_shift(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);

/* condition ? a : b; condition is bool, or of numbers that are true where they are not 0. No gradient for condition. */
ISO_API iso_tensor *iso_where(iso_context *ctx, const iso_tensor *condition, const iso_tensor *a, const iso_tensor *b);
/* x with `value`, rounded to the dtype once, where the mask is true; broadcast. */
ISO_API iso_tensor *iso_masked_fill(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask, double value);

/* The scalar is rounded to the dtype once. */
ISO_API iso_tensor *iso_add_scalar(iso_context *ctx, const iso_tensor *x, double s);
ISO_API iso_tensor *iso_mul_scalar(iso_context *ctx, const iso_tensor *x, double s);
ISO_API iso_tensor *iso_rsub_scalar(iso_context *ctx, const iso_tensor *x, double s); /* s − x */
ISO_API iso_tensor *iso_div_scalar(iso_context *ctx, const iso_tensor *x, double s);  /* x / s */
ISO_API iso_tensor *iso_rdiv_scalar(iso_context *ctx, const iso_tensor *x, double s); /* s / x */
ISO_API iso_tensor *iso_pow_scalar(iso_context *ctx, const iso_tensor *x, double s);  /* x^s   */
/* min(max(x,low),high); a NaN stays; the gradient passes where low ≤ x ≤ high. */
ISO_API iso_tensor *iso_clamp(iso_context *ctx, const iso_tensor *x, double low, double high);

ISO_API iso_tensor *iso_neg(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_abs(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sign(iso_context *ctx, const iso_tensor *x); /* zeros and NaN stay; gradient zero */
ISO_API iso_tensor *iso_square(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sqrt(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_rsqrt(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_reciprocal(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_exp(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_exp2(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_expm1(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_log(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_log2(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_log1p(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_erf(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_erfc(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_log10(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sin(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_cos(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_tan(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_asin(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_acos(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_atan(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sinh(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_cosh(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_asinh(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_acosh(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_atanh(iso_context *ctx, const iso_tensor *x);
/* The angle of the point (b, a), −π … π. */
ISO_API iso_tensor *iso_atan2(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* log |Γ(x)| and its derivatives ψ, ψ′ (PyTorch's polygamma of n = 1); poles as docs/numerics-math.md tables them. */
ISO_API iso_tensor *iso_lgamma(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_digamma(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_trigamma(iso_context *ctx, const iso_tensor *x);
/* The inverses of erf, ±inf at ±1, and of the normal distribution, ∓inf at 0 and 1; NaN beyond. */
ISO_API iso_tensor *iso_erfinv(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_ndtri(iso_context *ctx, const iso_tensor *p);
/* Modified Bessel functions of the first kind; i0e, i1e times e^−|x|. */
ISO_API iso_tensor *iso_i0(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_i0e(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_i1(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_i1e(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_tanh(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sigmoid(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sinpi(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_cospi(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_relu(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_gelu(iso_context *ctx, const iso_tensor *x);      /* x·(1 + erf(x/√2))/2 */
ISO_API iso_tensor *iso_gelu_tanh(iso_context *ctx, const iso_tensor *x); /* its tanh approximation */
ISO_API iso_tensor *iso_silu(iso_context *ctx, const iso_tensor *x);      /* x·sigmoid(x) */
ISO_API iso_tensor *iso_softplus(iso_context *ctx, const iso_tensor *x);  /* log(1 + exp(x)) */

/* ---- activations; one pass forward and one backward ---- */
ISO_API iso_tensor *iso_relu6(iso_context *ctx, const iso_tensor *x); /* min(relu(x), 6) */
ISO_API iso_tensor *iso_hardtanh(iso_context *ctx, const iso_tensor *x, double low,
                                 double high);                                           /* slope 0 at the ends */
ISO_API iso_tensor *iso_leaky_relu(iso_context *ctx, const iso_tensor *x, double slope); /* x > 0 ? x : slope·x */
/* x > 0 ? x : w·x; w has one element, or one a channel (axis 1 of x). */
ISO_API iso_tensor *iso_prelu(iso_context *ctx, const iso_tensor *x, const iso_tensor *weight);
/* In training a slope an element, uniform in [lower, upper], of a site of its own; else their mean. */
ISO_API iso_tensor *iso_rrelu(iso_context *ctx, const iso_tensor *x, double lower, double upper, bool training);
ISO_API iso_tensor *iso_elu(iso_context *ctx, const iso_tensor *x, double alpha);  /* x > 0 ? x : alpha·(e^x − 1) */
ISO_API iso_tensor *iso_celu(iso_context *ctx, const iso_tensor *x, double alpha); /* … alpha·(e^(x/alpha) − 1) */
ISO_API iso_tensor *iso_selu(iso_context *ctx, const iso_tensor *x); /* 1.0507·elu(x, 1.6733); Klambauer et al., 2017 */
ISO_API iso_tensor *iso_mish(iso_context *ctx, const iso_tensor *x);                      /* x·tanh(softplus(x)) */
ISO_API iso_tensor *iso_hardswish(iso_context *ctx, const iso_tensor *x);                 /* x·hardsigmoid(x) */
ISO_API iso_tensor *iso_hardsigmoid(iso_context *ctx, const iso_tensor *x);               /* clamp(x + 3, 0, 6)/6 */
ISO_API iso_tensor *iso_hardshrink(iso_context *ctx, const iso_tensor *x, double lambda); /* |x| ≤ lambda ? 0 : x */
ISO_API iso_tensor *iso_softshrink(iso_context *ctx, const iso_tensor *x, double lambda); /* nearer to 0 by lambda */
ISO_API iso_tensor *iso_tanhshrink(iso_context *ctx, const iso_tensor *x);                /* x − tanh(x) */
ISO_API iso_tensor *iso_threshold(iso_context *ctx, const iso_tensor *x, double threshold,
                                  double value); /* x > threshold ? x : value */
/* softplus(beta·x)/beta; x itself where beta·x > threshold (PyTorch: 20). */
ISO_API iso_tensor *iso_softplus_beta(iso_context *ctx, const iso_tensor *x, double beta, double threshold);
ISO_API iso_tensor *iso_softsign(iso_context *ctx, const iso_tensor *x);   /* x/(1 + |x|) */
ISO_API iso_tensor *iso_logsigmoid(iso_context *ctx, const iso_tensor *x); /* log(sigmoid(x)) */
/* Gated units: x's halves a, b along an axis: a·sigmoid(b); and of two operands: silu(a)·b, gelu(a)·b, gelu_tanh(a)·b.
 */
ISO_API iso_tensor *iso_glu(iso_context *ctx, const iso_tensor *x, int axis);
ISO_API iso_tensor *iso_swiglu(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_geglu(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_geglu_tanh(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);

/* ---- whole numbers and parts; gradients of steps are zero ---- */
ISO_API iso_tensor *iso_floor(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_ceil(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_trunc(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_round(iso_context *ctx, const iso_tensor *x); /* half to even */
/* rint(x·10^d)/10^d; for negative d rint(x/10^−d)·10^−d. */
ISO_API iso_tensor *iso_round_decimals(iso_context *ctx, const iso_tensor *x, int decimals);
ISO_API iso_tensor *iso_frac(iso_context *ctx, const iso_tensor *x); /* x − trunc(x) */
/* x = mantissa·2^exponent, ½ ≤ |mantissa| < 1, exponent i32 (NULL: not wanted); 0, ±inf and NaN with exponent 0. */
ISO_API iso_tensor *iso_frexp(iso_context *ctx, const iso_tensor *x, iso_tensor **exponent);
ISO_API iso_tensor *iso_ldexp(iso_context *ctx, const iso_tensor *x, const iso_tensor *n); /* x·2^n, n of any dtype */
/* Quotients rounded down and towards 0, and what is left: a − b·q, exact but for remainder's last sum. Of integers,
 * too; by zero they are 0, with the dividend left. */
ISO_API iso_tensor *iso_floor_divide(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_trunc_divide(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_remainder(iso_context *ctx, const iso_tensor *a, const iso_tensor *b); /* sign of b */
ISO_API iso_tensor *iso_fmod(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);      /* sign of a */

/* ---- more of several operands ---- */
ISO_API iso_tensor *iso_add_scaled(iso_context *ctx, const iso_tensor *a, const iso_tensor *b,
                                   double alpha);                                         /* fma(alpha, b, a) */
ISO_API iso_tensor *iso_fmax(iso_context *ctx, const iso_tensor *a, const iso_tensor *b); /* a NaN only of two */
ISO_API iso_tensor *iso_fmin(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* maximum(x, low), minimum(x, high), and both (either NULL), whose gradient goes to x within bounds, else to the bound.
 */
ISO_API iso_tensor *iso_clamp_min(iso_context *ctx, const iso_tensor *x, const iso_tensor *low);
ISO_API iso_tensor *iso_clamp_max(iso_context *ctx, const iso_tensor *x, const iso_tensor *high);
ISO_API iso_tensor *iso_clamp_tensor(iso_context *ctx, const iso_tensor *x, const iso_tensor *low,
                                     const iso_tensor *high);
ISO_API iso_tensor *iso_copysign(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);  /* a NaN is positive */
ISO_API iso_tensor *iso_nextafter(iso_context *ctx, const iso_tensor *a, const iso_tensor *b); /* a towards b */
/* x < 0 ? 0 : x > 0 ? 1 : x = 0 ? at_zero : 0 for a NaN; no gradient. */
ISO_API iso_tensor *iso_heaviside(iso_context *ctx, const iso_tensor *x, const iso_tensor *at_zero);
/* From a to b by w, from the nearer end: |w| < ½ ? fma(w, b − a, a) : fma(−(b − a), 1 − w, b). */
ISO_API iso_tensor *iso_lerp(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, const iso_tensor *w);
ISO_API iso_tensor *iso_lerp_scalar(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double w);
/* x + (value·a)·b, x + (value·a)/b */
ISO_API iso_tensor *iso_addcmul(iso_context *ctx, const iso_tensor *x, const iso_tensor *a, const iso_tensor *b,
                                double value);
ISO_API iso_tensor *iso_addcdiv(iso_context *ctx, const iso_tensor *x, const iso_tensor *a, const iso_tensor *b,
                                double value);
ISO_API iso_tensor *iso_logaddexp(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);  /* log(e^a + e^b) */
ISO_API iso_tensor *iso_logaddexp2(iso_context *ctx, const iso_tensor *a, const iso_tensor *b); /* log2(2^a + 2^b) */
ISO_API iso_tensor *iso_xlogy(iso_context *ctx, const iso_tensor *x, const iso_tensor *y);      /* 0·log y = 0 */
ISO_API iso_tensor *iso_xlog1py(iso_context *ctx, const iso_tensor *x, const iso_tensor *y);
ISO_API iso_tensor *iso_hypot(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);       /* √(a² + b²) */
ISO_API iso_tensor *iso_float_power(iso_context *ctx, const iso_tensor *a, const iso_tensor *b); /* a^b in f64 */
ISO_API iso_tensor *iso_gcd(iso_context *ctx, const iso_tensor *a, const iso_tensor *b); /* integers; not negative */
ISO_API iso_tensor *iso_lcm(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);

/* ---- more of one operand ---- */
ISO_API iso_tensor *iso_logit(iso_context *ctx, const iso_tensor *x);                     /* log(x/(1 − x)) */
ISO_API iso_tensor *iso_logit_clamped(iso_context *ctx, const iso_tensor *x, double eps); /* of x in [eps, 1 − eps] */
ISO_API iso_tensor *iso_entr(iso_context *ctx, const iso_tensor *x); /* −x·log(x); 0 at 0, −inf below */
ISO_API iso_tensor *iso_sinc(iso_context *ctx, const iso_tensor *x); /* sin(πx)/(πx) */
/* NaN, +inf and −inf replaced; no gradient there. */
ISO_API iso_tensor *iso_nan_to_num(iso_context *ctx, const iso_tensor *x, double nan, double above, double below);
ISO_API iso_tensor *iso_deg2rad(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_rad2deg(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_signbit(iso_context *ctx, const iso_tensor *x); /* bool; −0 has it, a NaN doesn't */
ISO_API iso_tensor *iso_isposinf(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_isneginf(iso_context *ctx, const iso_tensor *x);

/* ---- formulas ---- */
/* A formula of pointwise functions in one pass over memory, bit for bit what the separate operators give:
 *
 *   iso_chain(ctx, "mul(tanh(relu(add(mul(a, b), c))), a)", 3, (const iso_tensor *const[]){x, y, z}, 0, NULL);
 *
 * Inputs are a … d, numbers s0 … s7 of `scalars` behind a function's operands ("clamp(a, s0, s1)"), functions the
 * operators of these names: add sub mul div maximum minimum hypot add_relu swiglu geglu · add_scalar mul_scalar
 * rsub_scalar rdiv_scalar pow_scalar leaky_relu clamp · neg abs square sqrt rsqrt reciprocal exp exp2 expm1 log log2
 * log1p erf sin cos tanh sigmoid relu gelu gelu_tanh silu softplus softsign logsigmoid mish hardswish hardsigmoid. At
 * most 8 different steps; every input must be read. Broadcast; one pass in f32. The gradient recomputes the steps and
 * can't be differentiated again. */
ISO_API iso_tensor *iso_chain(iso_context *ctx, const char *formula, int n, const iso_tensor *const *inputs,
                              int n_scalars, const double *scalars);

/* ---- closeness ---- */
/* bool: |a − b| ≤ absolute + |relative·b|, an infinity only to itself, a NaN to a NaN if equal_nan. */
ISO_API iso_tensor *iso_isclose(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double relative,
                                double absolute, bool equal_nan);
/* Whether all elements are; whether shapes and all elements are equal. */
ISO_API iso_status iso_allclose(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double relative,
                                double absolute, bool equal_nan, bool *out);
ISO_API iso_status iso_equal(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, bool *out);

/* ---- in place, for updates by hand: not recorded, so ISO_STATE on a tensor that wants a gradient unless under no_grad
 */
/* dst = fma(alpha, src, dst). */
ISO_API iso_status iso_accumulate(iso_tensor *dst, const iso_tensor *src, double alpha);

#ifdef __cplusplus
}
#endif
#endif
