/* ops/reduce.h: reductions, scans and sorts. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_REDUCE_H
#define ISOBIT_OPS_REDUCE_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- reductions over any axes (negative: from the end; n_axes 0: all of them) ---- */
ISO_API iso_tensor *iso_sum(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_mean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
/* Σ(x−mean)²/(n − correction). */
ISO_API iso_tensor *iso_var(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                            double correction);
ISO_API iso_tensor *iso_prod(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
/* Any NaN gives NaN. The gradient is shared equally by the elements that equal the result. Empty: ISO_INVALID_ARGUMENT.
 */
ISO_API iso_tensor *iso_amax(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_amin(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
/* i64: the first NaN, else the lowest index of equals. No gradient. */
ISO_API iso_tensor *iso_argmax(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim);
ISO_API iso_tensor *iso_argmin(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim);
ISO_API iso_tensor *iso_sum_all(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_mean_all(iso_context *ctx, const iso_tensor *x);

#ifdef __cplusplus
}
#endif
#endif
