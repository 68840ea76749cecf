/* tensor.h: tensors are views of storage: a dtype, a shape, strides in elements, and no maths.
 *
 * Shapes are outermost first. A handle belongs to a scope (base.h); storage is shared and reference-counted. Images are
 * logically N,C,H,W; their native storage is channels-last.
 *
 *   float a[6] = {1, 2, 3, 4, 5, 6};
 *   iso_tensor *x = iso_tensor_copy_from(ctx, ISO_F32, 2, ISO_DIMS(2, 3), a);
 *   iso_tensor *t = iso_transpose(ctx, x, 0, 1);          // (3,2), a view
 */
#ifndef ISOBIT_TENSOR_H
#define ISOBIT_TENSOR_H
#include <isobit/base.h>
#include <isobit/device.h>
#include <isobit/numeric.h>
#ifdef __cplusplus
extern "C" {
#endif

#define ISO_MAX_DIMS 8
#ifndef __cplusplus
#  define ISO_DIMS(...) ((const int64_t[]){__VA_ARGS__})
#endif

/* A tensor and its name: of a file, a module or an optimiser. `trainable`: a parameter, not a buffer (running
 * statistics, counters); no matter to files. */
typedef struct iso_named_tensor {
  const char *name;
  iso_tensor *tensor;
  bool trainable;
} iso_named_tensor;

/* ---- making ---- */
/* Contiguous, uninitialised. n_dims 0 is a scalar; extents may be 0. */
ISO_API iso_tensor *iso_tensor_new(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape);
/* The same in channels-last storage, for (N,C,L), (N,C,H,W) or (N,C,D,H,W). */
ISO_API iso_tensor *iso_tensor_new_channels_last(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape);
ISO_API iso_tensor *iso_tensor_zeros(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape);
/* Every element = value, cast once. */
ISO_API iso_tensor *iso_tensor_full(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double value);
/* Copies prod(shape) contiguous elements of `dtype` from data. */
ISO_API iso_tensor *iso_tensor_copy_from(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape,
                                         const void *data);
/* Borrows memory: no copy; `deleter(user)` is called when the last view is gone (may be NULL). strides NULL:
 * contiguous. */
ISO_API iso_tensor *iso_tensor_wrap(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape,
                                    const int64_t *strides, void *data, void (*deleter)(void *user), void *user);
/* Another handle to the same view, in the current scope. */
ISO_API iso_tensor *iso_tensor_alias(iso_context *ctx, const iso_tensor *t);

/* ---- asking; every one accepts NULL (0 / NULL) ---- */
ISO_API iso_dtype iso_tensor_dtype(const iso_tensor *t);
ISO_API int iso_tensor_n_dims(const iso_tensor *t);
ISO_API const int64_t *iso_tensor_shape(const iso_tensor *t);
ISO_API const int64_t *iso_tensor_strides(const iso_tensor *t);
ISO_API int64_t iso_tensor_numel(const iso_tensor *t);
ISO_API bool iso_tensor_is_contiguous(const iso_tensor *t);
ISO_API bool iso_tensor_is_channels_last(const iso_tensor *t); /* 3 to 5 dims, dense with C innermost */
ISO_API iso_context *iso_tensor_context(const iso_tensor *t);
ISO_API const char *iso_tensor_device(const iso_tensor *t); /* "cpu", "cuda:0" */
/* The first element, in its device's memory. Writing through it does not count as a modification; call iso_tensor_touch
 * after it. */
ISO_API void *iso_tensor_data(const iso_tensor *t);
ISO_API void iso_tensor_touch(iso_tensor *t);
/* The one element of a one-element tensor, or the element at an index, as double (i64 beyond 2^53 rounds). */
ISO_API iso_status iso_tensor_item(const iso_tensor *t, double *out);
ISO_API iso_status iso_tensor_at(const iso_tensor *t, const int64_t *index, double *out);
/* Copies all elements, in logical order, contiguous, into data (numel elements of the tensor's dtype). */
ISO_API iso_status iso_tensor_copy_to(const iso_tensor *t, void *data, size_t n_bytes);
/* Copies src's elements into dst (same shape, any strides and dtypes; casts round once). Counts as a modification. */
ISO_API iso_status iso_tensor_assign(iso_tensor *dst, const iso_tensor *src);
/* Position-sensitive 128-bit hash of dtype, shape and elements by logical index; NaNs count as one. 32 hex digits +
 * NUL. */
ISO_API iso_status iso_tensor_hash(const iso_tensor *t, char hex[33]);
/* "f32 (2,3) strides (3,1)": the length like snprintf. */
ISO_API int iso_tensor_format(const iso_tensor *t, char *text, size_t n_bytes);

#ifdef __cplusplus
}
#endif
#endif
