/* make.c: new tensors: of fresh storage, filled, copied in, or around a user's memory. */
#include <string.h>
#include "base/dry.h"
#include "device/trace.h"
#include "base/fenv.h"
#include "numeric/dtype.h"
#include "tensor/tensor.h"

/* Of (N, C, …) stored (N, …, C). */
static void strides_channels_last(int n_dims, const int64_t *shape, int64_t *strides) {
  int64_t stored[ISO_MAX_DIMS], s[ISO_MAX_DIMS];
  stored[0] = shape[0], stored[n_dims - 1] = shape[1];
  for (int i = 2; i < n_dims; i++) stored[i - 1] = shape[i];
  iso__strides_contiguous(n_dims, stored, s);
  strides[0] = s[0], strides[1] = s[n_dims - 1];
  for (int i = 2; i < n_dims; i++) strides[i] = s[i - 1];
}

static iso_tensor *new_tensor(iso_context *ctx, const char *op, iso_dtype dtype, int n_dims, const int64_t *shape,
                              bool channels_last) {
  int64_t numel;
  if (iso__failed(ctx) || !iso__shape_check(ctx, op, dtype, n_dims, shape, &numel)) return NULL;
  iso__view view = {.dtype = dtype, .n_dims = n_dims};
  for (int i = 0; i < n_dims; i++) view.shape[i] = shape[i];
  if (channels_last) strides_channels_last(n_dims, view.shape, view.strides);
  else iso__strides_contiguous(n_dims, view.shape, view.strides);
  view.storage = iso__storage_new(ctx, (size_t)numel * iso_dtype_size(dtype));
  if (!view.storage) return NULL;
  return iso__tensor_adopt(ctx, &view);
}

iso_tensor *iso_tensor_new(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape) {
  return new_tensor(ctx, "iso_tensor_new", dtype, n_dims, shape, false);
}

iso_tensor *iso_tensor_new_channels_last(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape) {
  if (!iso__failed(ctx) && !iso__has_channels(n_dims)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_tensor_new_channels_last", "%d dims; (N,C,…) has 3 to 5", n_dims);
    return NULL;
  }
  return new_tensor(ctx, "iso_tensor_new_channels_last", dtype, n_dims, shape, true);
}

iso_tensor *iso__tensor_new_like(iso_context *ctx, const iso__view *like, iso_dtype dtype) {
  return new_tensor(ctx, "iso_tensor_new", dtype, like->n_dims, like->shape, iso__view_is_channels_last(like));
}

/* t, unless its device could not fill it. */
static iso_tensor *kept(iso_context *ctx, iso_tensor *t, const char *op, iso_status status) {
  if (iso__device_asked(ctx, t->view.storage->device, op, status) == ISO_OK) return t;
  iso_release(t);
  return NULL;
}

iso_tensor *iso_tensor_zeros(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape) {
  iso_tensor *t = new_tensor(ctx, "iso_tensor_zeros", dtype, n_dims, shape, false);
  if (!t || (iso__heap_is_dry(ctx->heap) && iso_dtype_is_float(dtype))) return t;
  const size_t mark = iso__copy_enter(ctx, ISO_TRACE_COPY, "fill", (double)t->view.storage->n_bytes);
  const iso__device *device = t->view.storage->device;
  t = kept(ctx, t, "iso_tensor_zeros", device->zero(device, iso__view_data(&t->view), t->view.storage->n_bytes));
  iso__mark_leave(ctx, mark);
  return t;
}

/* Doubles the filled part until all is filled. */
static void fill_by_copies(char *data, size_t n_bytes, size_t n_filled) {
  while (n_filled < n_bytes) {
    size_t n = n_filled < n_bytes - n_filled ? n_filled : n_bytes - n_filled;
    if (n > 1 << 16) n = 1 << 16; /* the source stays in cache */
    memcpy(data + n_filled, data, n);
    n_filled += n;
  }
}

iso_tensor *iso_tensor_full(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double value) {
  iso_tensor *t = new_tensor(ctx, "iso_tensor_full", dtype, n_dims, shape, false);
  if (!t || t->view.storage->n_bytes == 0) return t;
  const iso__device *device = t->view.storage->device;
  _Alignas(8) char element[8];
  void *data = iso__view_data(&t->view);
  iso__fenv saved = iso__fenv_enter();
  iso__cast_element(&value, ISO_F64, element, dtype);
  iso__fenv_leave(saved);
  if (device->fill)
    return kept(ctx, t, "iso_tensor_full",
                device->fill(device, data, element, iso_dtype_size(dtype), iso__view_numel(&t->view)));
  memcpy(data, element, iso_dtype_size(dtype));
  fill_by_copies(data, t->view.storage->n_bytes, iso_dtype_size(dtype));
  return t;
}

iso_tensor *iso_tensor_copy_from(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape,
                                 const void *data) {
  iso_tensor *t = new_tensor(ctx, "iso_tensor_copy_from", dtype, n_dims, shape, false);
  if (!t || t->view.storage->n_bytes == 0) return t;
  const iso__device *device = t->view.storage->device;
  if (data)
    return kept(ctx, t, "iso_tensor_copy_from",
                device->copy(device, iso__view_data(&t->view), data, t->view.storage->n_bytes));
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_tensor_copy_from", "data is NULL");
  iso_release(t);
  return NULL;
}

/* ---- borrowed memory ---- */

/* The lowest and highest element that a view touches, relative to its first; false where that overflows. */
static bool reach(const iso__view *v, int64_t *low, int64_t *high) {
  *low = *high = 0;
  for (int i = 0; i < v->n_dims; i++) {
    int64_t last;
    if (v->shape[i] == 0) {
      *low = 0, *high = -1;
      return true;
    }
    if (__builtin_mul_overflow(v->shape[i] - 1, v->strides[i], &last)) return false;
    if (__builtin_add_overflow(last < 0 ? *low : *high, last, last < 0 ? low : high)) return false;
  }
  int64_t n_elements, n_bytes;
  return !__builtin_sub_overflow(*high, *low, &n_elements) && !__builtin_add_overflow(n_elements, 1, &n_elements) &&
         !__builtin_mul_overflow(n_elements, (int64_t)iso_dtype_size(v->dtype), &n_bytes);
}

/* Of memory whose owner wants no word. */
static void keep_alive(void *user) { (void)user; }

/* On failure the memory stays the caller's: the deleter is not called. */
iso_tensor *iso_tensor_wrap(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, const int64_t *strides,
                            void *data, void (*deleter)(void *user), void *user) {
  static const char op[] = "iso_tensor_wrap";
  int64_t numel, low, high;
  if (iso__failed(ctx) || !iso__shape_check(ctx, op, dtype, n_dims, shape, &numel)) return NULL;
  iso__view view = {.dtype = dtype, .n_dims = n_dims};
  for (int i = 0; i < n_dims; i++) view.shape[i] = shape[i];
  iso__strides_contiguous(n_dims, view.shape, view.strides);
  for (int i = 0; strides && i < n_dims; i++) view.strides[i] = strides[i];
  if (!reach(&view, &low, &high)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the strides reach further than can be addressed");
    return NULL;
  }
  if (numel > 0 && (!data || (uintptr_t)data % iso_dtype_size(dtype) != 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "data is %s", data ? "not aligned to its elements" : "NULL");
    return NULL;
  }
  iso__storage *s = iso__alloc(ctx, sizeof *s);
  if (!s) return NULL;
  int64_t item_bytes = (int64_t)iso_dtype_size(dtype);
  *s = (iso__storage){.data = data ? (char *)data + low * item_bytes : NULL,
                      .n_bytes = (size_t)((high - low + 1) * item_bytes),
                      .heap = ctx->heap,
                      .device = &iso__device_cpu,
                      .deleter = keep_alive};
  atomic_init(&s->n_refs, 1);
  atomic_init(&s->version, 0);
  view.storage = s;
  view.offset = -low;
  iso_tensor *t = iso__tensor_adopt(ctx, &view);
  if (t && deleter) s->deleter = deleter, s->user = user;
  return t;
}
