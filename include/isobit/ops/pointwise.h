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
/* 1 or 0 in the operands' dtype; no gradient. */
ISO_API iso_tensor *iso_eq(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_ne(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_lt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_le(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_gt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
ISO_API iso_tensor *iso_ge(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
/* condition ≠ 0 ? a : b; condition in the dtype of a and b. No gradient for condition. */
ISO_API iso_tensor *iso_where(iso_context *ctx, const iso_tensor *condition, const iso_tensor *a, const iso_tensor *b);

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
