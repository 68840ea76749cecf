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
/* x with `value`, rounded to the dtype once, where the mask is true; the mask is broadcast to x. */
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
ISO_API iso_tensor *iso_sign(iso_context *ctx, const iso_tensor *x); /* no gradient */
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
ISO_API iso_tensor *iso_tanh(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sigmoid(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_sinpi(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_cospi(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_relu(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_gelu(iso_context *ctx, const iso_tensor *x);      /* x·(1 + erf(x/√2))/2 */
ISO_API iso_tensor *iso_gelu_tanh(iso_context *ctx, const iso_tensor *x); /* its tanh approximation */
ISO_API iso_tensor *iso_silu(iso_context *ctx, const iso_tensor *x);      /* x·sigmoid(x) */
ISO_API iso_tensor *iso_softplus(iso_context *ctx, const iso_tensor *x);  /* log(1 + exp(x)) */

/* ---- in place, for updates by hand: not recorded, so ISO_STATE on a tensor that wants a gradient unless under no_grad
 */
/* dst = fma(alpha, src, dst). */
ISO_API iso_status iso_accumulate(iso_tensor *dst, const iso_tensor *src, double alpha);

#ifdef __cplusplus
}
#endif
#endif
