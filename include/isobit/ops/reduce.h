/* ops/reduce.h: reductions, distances and scans. What holds for every operator: ops.h.
 *
 * Reductions take any axes (negative: from the end; n_axes 0: all of them); keep_dims leaves extents of 1. If the
 * reduced axes are the innermost ones the class is `lanes`, otherwise `ordered`; extrema are `extremum`, results that
 * are integers or bool `integer`. Extrema of nothing are ISO_INVALID_ARGUMENT; a sum of nothing is 0, a product 1, a
 * mean NaN. */
#ifndef ISOBIT_OPS_REDUCE_H
#define ISOBIT_OPS_REDUCE_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- sums; sum and prod also of integers and bool: i64, which wraps; f16 and bf16 are summed in f32 ---- */
ISO_API iso_tensor *iso_sum(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_prod(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_mean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
/* The same without the elements that are NaN; no number at all: sum 0, mean NaN. */
ISO_API iso_tensor *iso_nansum(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_nanmean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_sum_all(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_mean_all(iso_context *ctx, const iso_tensor *x);
/* Sums x to a shape that could be broadcast to its own. */
ISO_API iso_tensor *iso_sum_to_size(iso_context *ctx, const iso_tensor *x, int n_dims, const int64_t *shape);
/* Σ x[i,i] of a matrix. */
ISO_API iso_tensor *iso_trace(iso_context *ctx, const iso_tensor *x);

/* Σ(x−mean)²/max(0, n − correction), its square root, and both with the mean in *mean. */
ISO_API iso_tensor *iso_var(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                            double correction);
ISO_API iso_tensor *iso_std(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                            double correction);
ISO_API iso_tensor *iso_var_mean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                                 double correction, iso_tensor **mean);
ISO_API iso_tensor *iso_std_mean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                                 double correction, iso_tensor **mean);
/* log Σ exp(x) = log Σ exp(x − m) + m, m the largest element (0 where that is infinite). Of nothing: −inf. */
ISO_API iso_tensor *iso_logsumexp(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);

/* ---- norms and distances ---- */
/* (Σ|x|^p)^(1/p); p 0: how many are not 0; ±inf: the largest, smallest |x|. The gradient is 0 where a norm is 0, and
 * for ±inf shared equally by the elements that have it. */
ISO_API iso_tensor *iso_vector_norm(iso_context *ctx, const iso_tensor *x, double p, int n_axes, const int *axes,
                                    bool keep_dims);
/* iso_vector_norm(x − y) over everything, after broadcasting. */
ISO_API iso_tensor *iso_dist(iso_context *ctx, const iso_tensor *x, const iso_tensor *y, double p);
/* x / max(norm, eps), norm of order p along axis. */
ISO_API iso_tensor *iso_normalize(iso_context *ctx, const iso_tensor *x, double p, int axis, double eps);
/* Slices along axis whose norm of order p is larger are scaled by max_norm / (norm + 1e-7). */
ISO_API iso_tensor *iso_renorm(iso_context *ctx, const iso_tensor *x, double p, int axis, double max_norm);

/* ---- extrema, of any dtype (with positions: but f16 and bf16). Any NaN gives NaN; a result of zero is +0 ---- */
/* The gradient is shared equally by the elements that equal the result. */
ISO_API iso_tensor *iso_amax(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_amin(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
/* Both: the smallest is returned, the largest left in *max. */
ISO_API iso_tensor *iso_aminmax(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                                iso_tensor **max);
/* Along one axis, with the position (i64) in *index: the first NaN, else the lowest index of equals. The gradient goes
 * there. */
ISO_API iso_tensor *iso_max(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **index);
ISO_API iso_tensor *iso_min(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **index);
/* The position alone; `all`: among all elements, row-major. */
ISO_API iso_tensor *iso_argmax(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim);
ISO_API iso_tensor *iso_argmin(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim);
ISO_API iso_tensor *iso_argmax_all(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_argmin_all(iso_context *ctx, const iso_tensor *x);

/* ---- truths: bool, bool and i64, of any dtype but f16 and bf16; what is not 0 is true, a NaN too ---- */
ISO_API iso_tensor *iso_any(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_all(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims);
ISO_API iso_tensor *iso_count_nonzero(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes);

/* ---- along an axis: y[…,k,…] from x[…,0 … k,…]. Class `scan`; of integers `integer`; extrema `extremum` ---- */
/* Σ x; of integers and bool i64, which wraps. */
ISO_API iso_tensor *iso_cumsum(iso_context *ctx, const iso_tensor *x, int axis);
/* Π x; likewise. */
ISO_API iso_tensor *iso_cumprod(iso_context *ctx, const iso_tensor *x, int axis);
/* log Σ exp(x). */
ISO_API iso_tensor *iso_logcumsumexp(iso_context *ctx, const iso_tensor *x, int axis);
/* The extremum so far, and where it is (i64) in *index: the last NaN, else the last of equals. The gradient goes there.
 */
ISO_API iso_tensor *iso_cummax(iso_context *ctx, const iso_tensor *x, int axis, iso_tensor **index);
ISO_API iso_tensor *iso_cummin(iso_context *ctx, const iso_tensor *x, int axis, iso_tensor **index);
/* x[k+1] − x[k], n times over, after prepend and append (NULL: nothing) were joined to x; of bool: whether they differ.
 */
ISO_API iso_tensor *iso_diff(iso_context *ctx, const iso_tensor *x, int n, int axis, const iso_tensor *prepend,
                             const iso_tensor *append);
/* Σ (y[k] + y[k+1])/2 · (x[k+1] − x[k]) along axis, and its partial sums; x: one point a value along the axis, or of a
 * shape that broadcasts with y's; NULL: dx apart. */
ISO_API iso_tensor *iso_trapezoid(iso_context *ctx, const iso_tensor *y, const iso_tensor *x, double dx, int axis);
ISO_API iso_tensor *iso_cumulative_trapezoid(iso_context *ctx, const iso_tensor *y, const iso_tensor *x, double dx,
                                             int axis);

#ifdef __cplusplus
}
#endif
#endif
