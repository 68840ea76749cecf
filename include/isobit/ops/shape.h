/* ops/shape.h: shape and storage. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_SHAPE_H
#define ISOBIT_OPS_SHAPE_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- shape and storage; any dtype. Views share storage where they can; writing in place into a view of a recorded
 * tensor is noticed at backward ---- */
/* One extent may be −1: inferred. Logical order, so an image in channels-last storage is copied. */
ISO_API iso_tensor *iso_reshape(iso_context *ctx, const iso_tensor *x, int n_dims, const int64_t *shape);
ISO_API iso_tensor *iso_flatten(iso_context *ctx, const iso_tensor *x, int first_axis, int last_axis);
ISO_API iso_tensor *iso_squeeze(iso_context *ctx, const iso_tensor *x, int axis);
ISO_API iso_tensor *iso_unsqueeze(iso_context *ctx, const iso_tensor *x, int axis);
ISO_API iso_tensor *iso_permute(iso_context *ctx, const iso_tensor *x, const int *axes);
ISO_API iso_tensor *iso_transpose(iso_context *ctx, const iso_tensor *x, int axis_a, int axis_b);
/* Elements begin, begin+step, … before end of one axis; negative begin and end count from the end and are clipped. */
ISO_API iso_tensor *iso_slice(iso_context *ctx, const iso_tensor *x, int axis, int64_t begin, int64_t end,
                              int64_t step);
ISO_API iso_tensor *iso_select(iso_context *ctx, const iso_tensor *x, int axis, int64_t index);
/* Extents of 1, and new leading ones, are repeated without a copy. */
ISO_API iso_tensor *iso_expand(iso_context *ctx, const iso_tensor *x, int n_dims, const int64_t *shape);
ISO_API iso_tensor *iso_cat(iso_context *ctx, int n, const iso_tensor *const *parts, int axis);
ISO_API iso_tensor *iso_stack(iso_context *ctx, int n, const iso_tensor *const *parts, int axis);
/* x itself (another handle) if it already is. */
ISO_API iso_tensor *iso_contiguous(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_channels_last(iso_context *ctx, const iso_tensor *x);
ISO_API iso_tensor *iso_clone(iso_context *ctx, const iso_tensor *x);
/* Rounds once; the gradient is cast back. Float to integer truncates and saturates, NaN gives 0: no gradient. */
ISO_API iso_tensor *iso_cast(iso_context *ctx, const iso_tensor *x, iso_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
