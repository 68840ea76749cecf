/* ask.c: what a tensor is and holds. Every question accepts NULL and, in debug builds, a dead handle. */
#include <stdio.h>
#include "base/fenv.h"
#include "device/trace.h"
#include "numeric/dtype.h"
#include "tensor/tensor.h"

iso_dtype iso_tensor_dtype(const iso_tensor *t) {
  return iso__tensor_is_usable(t, __func__) ? t->view.dtype : (iso_dtype)0;
}
int iso_tensor_n_dims(const iso_tensor *t) { return iso__tensor_is_usable(t, __func__) ? t->view.n_dims : 0; }
const int64_t *iso_tensor_shape(const iso_tensor *t) {
  return iso__tensor_is_usable(t, __func__) ? t->view.shape : NULL;
}
const int64_t *iso_tensor_strides(const iso_tensor *t) {
  return iso__tensor_is_usable(t, __func__) ? t->view.strides : NULL;
}
int64_t iso_tensor_numel(const iso_tensor *t) {
  return iso__tensor_is_usable(t, __func__) ? iso__view_numel(&t->view) : 0;
}
bool iso_tensor_is_contiguous(const iso_tensor *t) {
  return iso__tensor_is_usable(t, __func__) && iso__view_is_contiguous(&t->view);
}
bool iso_tensor_is_channels_last(const iso_tensor *t) {
  return iso__tensor_is_usable(t, __func__) && iso__view_is_channels_last(&t->view);
}
iso_context *iso_tensor_context(const iso_tensor *t) { return iso__tensor_is_usable(t, __func__) ? t->ctx : NULL; }
const char *iso_tensor_device(const iso_tensor *t) {
  return iso__tensor_is_usable(t, __func__) ? t->view.storage->device->name : "cpu";
}
void *iso_tensor_data(const iso_tensor *t) {
  return iso__tensor_is_usable(t, __func__) ? iso__view_data(&t->view) : NULL;
}
void iso_tensor_touch(iso_tensor *t) {
  if (iso__tensor_is_usable(t, __func__)) atomic_fetch_add(&t->view.storage->version, 1);
}

/* ---- elements ---- */

static iso_status element(iso_context *ctx, const char *op, const iso__view *v, int64_t offset, double *value) {
  const size_t item_bytes = iso_dtype_size(v->dtype);
  const char *data = (const char *)iso__view_data(v) + offset * (int64_t)item_bytes;
  _Alignas(8) char copy[8];
  const iso__device *device = v->storage->device;
  if (iso__storage_settle(ctx, op, v->storage) != ISO_OK) return ctx->error.code;
  if (device != &iso__device_cpu) {
    const size_t mark = iso__copy_enter(ctx, ISO_TRACE_WAIT, "wait for an element", (double)item_bytes);
    const iso_status status = iso__device_waited(ctx, device, op, device->copy(device, copy, data, item_bytes));
    iso__mark_leave(ctx, mark);
    if (status != ISO_OK) return status;
    data = copy;
  }
  iso__fenv saved = iso__fenv_enter(); /* a caller that takes subnormals for zero would read zero */
  iso__cast_element(data, v->dtype, value, ISO_F64);
  iso__fenv_leave(saved);
  return ISO_OK;
}

/* The status of a call that cannot go on with t: the context's error, or that there is no tensor. */
static iso_status unusable(const iso_tensor *t) {
  return t && iso_error_code(t->ctx) ? iso_error_code(t->ctx) : ISO_INVALID_ARGUMENT;
}

static bool can_ask(const iso_tensor *t, const char *op) {
  return iso__tensor_is_usable(t, op) && !iso__failed(t->ctx);
}

iso_status iso_tensor_item(const iso_tensor *t, double *out) {
  if (!can_ask(t, __func__)) return unusable(t);
  if (iso__view_numel(&t->view) != 1) {
    char text[200];
    return ISO__FAIL(t->ctx, ISO_SHAPE_MISMATCH, __func__, "the tensor is %s; one element is wanted",
                     iso__shape_text(t->view.n_dims, t->view.shape, text, sizeof text));
  }
  if (!out) return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, __func__, "there is nowhere to write: out is NULL");
  return element(t->ctx, __func__, &t->view, 0, out);
}

iso_status iso_tensor_at(const iso_tensor *t, const int64_t *index, double *out) {
  if (!can_ask(t, __func__)) return unusable(t);
  const iso__view *v = &t->view;
  int64_t offset = 0;
  if (!out || (!index && v->n_dims > 0))
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, __func__, "%s is NULL", out ? "index" : "out");
  for (int i = 0; i < v->n_dims; i++) {
    if (index[i] < 0 || index[i] >= v->shape[i])
      return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, __func__, "index %lld of dim %d is outside 0..%lld",
                       (long long)index[i], i, (long long)v->shape[i] - 1);
    offset += index[i] * v->strides[i];
  }
  return element(t->ctx, __func__, v, offset, out);
}

/* ---- all elements ---- */

iso_status iso_tensor_copy_to(const iso_tensor *t, void *data, size_t n_bytes) {
  if (!can_ask(t, __func__)) return unusable(t);
  iso__view dst = t->view;
  size_t n_wanted = (size_t)iso__view_numel(&dst) * iso_dtype_size(dst.dtype);
  if (n_bytes != n_wanted || (!data && n_wanted))
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, __func__, "%s of %zu bytes; %zu are wanted",
                     data ? "a buffer" : "no buffer", n_bytes, n_wanted);
  iso__storage memory = {.data = data, .n_bytes = n_bytes, .device = &iso__device_cpu};
  dst.storage = &memory;
  dst.offset = 0;
  iso__strides_contiguous(dst.n_dims, dst.shape, dst.strides);
  iso__view_copy(t->ctx, &dst, &t->view);
  return t->ctx->error.code;
}

static bool same_shape(const iso__view *a, const iso__view *b) {
  if (a->n_dims != b->n_dims) return false;
  for (int i = 0; i < a->n_dims; i++)
    if (a->shape[i] != b->shape[i]) return false;
  return true;
}

static bool same_elements(const iso__view *a, const iso__view *b) {
  if (a->offset != b->offset || a->dtype != b->dtype) return false;
  for (int i = 0; i < a->n_dims; i++)
    if (a->shape[i] > 1 && a->strides[i] != b->strides[i]) return false;
  return true;
}

/* Whether several indices are one element: then "the" value after a copy would depend on the order. Strides that pass
 * this test may still overlap in contrived ways (5,3); nothing but iso_tensor_wrap makes those. */
static bool is_repeated(const iso__view *v) {
  for (int i = 0; i < v->n_dims; i++)
    if (v->shape[i] > 1 && v->strides[i] == 0) return true;
  return false;
}

/* src and dst share memory, so src is copied out first. */
static iso_status assign_through_copy(iso_tensor *dst, const iso_tensor *src) {
  iso_tensor *copy = iso__tensor_new_like(dst->ctx, &src->view, src->view.dtype);
  if (!copy) return iso_error_code(dst->ctx);
  iso__view_copy(dst->ctx, &copy->view, &src->view);
  iso__view_copy(dst->ctx, &dst->view, &copy->view);
  iso_release(copy);
  return ISO_OK;
}

iso_status iso_tensor_assign(iso_tensor *dst, const iso_tensor *src) {
  if (!can_ask(dst, __func__)) return unusable(dst);
  if (!can_ask(src, __func__)) return unusable(src);
  if (!same_shape(&dst->view, &src->view)) {
    char to[200], from[200];
    return ISO__FAIL(dst->ctx, ISO_SHAPE_MISMATCH, __func__, "dst is %s but src is %s",
                     iso__shape_text(dst->view.n_dims, dst->view.shape, to, sizeof to),
                     iso__shape_text(src->view.n_dims, src->view.shape, from, sizeof from));
  }
  if (is_repeated(&dst->view))
    return ISO__FAIL(dst->ctx, ISO_INVALID_ARGUMENT, __func__, "dst repeats elements (an expanded view)");
  if (dst->view.storage != src->view.storage) {
    iso__view_copy(dst->ctx, &dst->view, &src->view);
  } else if (!same_elements(&dst->view, &src->view)) {
    iso_status status = assign_through_copy(dst, src);
    if (status != ISO_OK) return status;
  }
  iso_tensor_touch(dst);
  return dst->ctx->error.code;
}

iso_status iso_tensor_hash(const iso_tensor *t, char hex[33]) {
  if (hex) hex[0] = '\0';
  if (!can_ask(t, __func__)) return unusable(t);
  if (!hex) return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, __func__, "there is nowhere to write: hex is NULL");
  iso__hash_format(iso__view_hash(t->ctx, &t->view), hex);
  return t->ctx->error.code;
}

int iso_tensor_format(const iso_tensor *t, char *text, size_t n_bytes) {
  if (!iso__tensor_is_usable(t, __func__)) return snprintf(text, n_bytes, "no tensor");
  char shape[200], strides[200];
  return snprintf(text, n_bytes, "%s %s strides %s", iso_dtype_name(t->view.dtype),
                  iso__shape_text(t->view.n_dims, t->view.shape, shape, sizeof shape),
                  iso__shape_text(t->view.n_dims, t->view.strides, strides, sizeof strides));
}
