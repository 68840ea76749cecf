/* transfer.c: copies between devices, and on a device that is not the CPU.
 *
 * Bytes move between devices only as dense blocks in the destination's order and dtype: what lies otherwise is first
 * brought into that form on its own side, or spread out on the other. */
#include "device/trace.h"
#include "numeric/dtype.h"
#include "tensor/tensor.h"
#include "tensor/transfer.h"

static void keep(iso_context *ctx, const iso__device *device, iso_status status) {
  if (status != ISO_OK) ISO__FAIL(ctx, status, "copy", "%s: a copy failed", device->name);
}

bool iso__view_is_dense(const iso__view *v) {
  int64_t expected = 1;
  bool used[ISO_MAX_DIMS] = {false};
  for (int round = 0; round < v->n_dims; round++) {
    int d = -1;
    for (int i = 0; i < v->n_dims; i++)
      if (!used[i] && v->shape[i] > 1 && v->strides[i] == expected) d = i;
    if (d < 0) break;
    used[d] = true;
    expected *= v->shape[d];
  }
  for (int i = 0; i < v->n_dims; i++)
    if (!used[i] && v->shape[i] != 1) return false;
  return true;
}

static bool same_strides(const iso__view *a, const iso__view *b) {
  for (int i = 0; i < a->n_dims; i++)
    if (a->shape[i] > 1 && a->strides[i] != b->strides[i]) return false;
  return true;
}

static double bytes_of(const iso__view *v) { return (double)iso__view_numel(v) * (double)iso_dtype_size(v->dtype); }

/* On one device. */
static void copy_inside(iso_context *ctx, const iso__view *dst, const iso__view *src) {
  const iso__device *device = dst->storage->device;
  iso__view to = *dst, from = *src;
  iso__views_into_memory_order(&to, &from);
  iso__strided form = {.n_dims = to.n_dims, .dst_dtype = to.dtype, .src_dtype = from.dtype};
  for (int d = 0; d < to.n_dims; d++)
    form.shape[d] = to.shape[d], form.dst_strides[d] = to.strides[d], form.src_strides[d] = from.strides[d];
  const bool is_run = to.n_dims == 1 && to.strides[0] == 1 && from.strides[0] == 1 && to.dtype == from.dtype;
  void *data = iso__view_data(&to);
  const void *source = iso__view_data(&from);
  const size_t mark = iso__copy_enter(ctx, ISO_TRACE_COPY, "copy", bytes_of(dst) + bytes_of(src));
  keep(ctx, device,
       is_run ? device->copy(device, data, source, (size_t)to.shape[0] * iso_dtype_size(to.dtype))
              : device->copy_strided(device, data, source, &form));
  iso__mark_leave(ctx, mark);
}

/* Dense storage of v's shape and dtype on a device, in `like`'s order where that is dense. */
static bool make_dense(iso_context *ctx, const iso__view *like, const iso__device *device, iso__view *out) {
  *out = *like;
  out->offset = 0;
  if (!iso__view_is_dense(like)) iso__strides_contiguous(out->n_dims, out->shape, out->strides);
  const size_t n_bytes = (size_t)iso__view_numel(like) * iso_dtype_size(like->dtype);
  const bool pins = ctx->is_capturing && device == &iso__device_cpu && like->storage->device != device;
  out->storage =
      pins ? iso__storage_new_pinned(ctx, like->storage->device, n_bytes) : iso__storage_new_on(ctx, device, n_bytes);
  return out->storage != NULL;
}

static void move(iso_context *ctx, const iso__view *dst, const iso__view *src) {
  const bool to_host = dst->storage->device == &iso__device_cpu;
  const iso__device *device = to_host ? src->storage->device : dst->storage->device;
  const size_t mark = iso__copy_enter(ctx, ISO_TRACE_COPY, to_host ? "copy to host" : "copy to device", bytes_of(dst));
  /* Each device knows its own work alone. */
  const bool between = !to_host && src->storage->device != &iso__device_cpu;
  if (between)
    iso__device_waited(ctx, src->storage->device, "copy", src->storage->device->synchronize(src->storage->device));
  iso__device_waited(ctx, device, "copy",
                     device->copy(device, iso__view_data(dst), iso__view_data(src),
                                  (size_t)iso__view_numel(dst) * iso_dtype_size(dst->dtype)));
  if (between) iso__device_waited(ctx, device, "copy", device->synchronize(device));
  iso__mark_leave(ctx, mark);
}

void iso__view_transfer(iso_context *ctx, const iso__view *dst, const iso__view *src) {
  iso__view staged, arrived;
  if (dst->storage->device == src->storage->device) {
    copy_inside(ctx, dst, src);
    return;
  }
  if (iso__view_is_dense(dst) && iso__view_is_dense(src) && same_strides(dst, src) && dst->dtype == src->dtype) {
    move(ctx, dst, src);
    return;
  }
  /* Into dst's form on src's side, over, and on dst's side into its place unless it lies so already. */
  if (!make_dense(ctx, dst, src->storage->device, &staged)) return;
  iso__view_copy(ctx, &staged, src);
  if (iso__view_is_dense(dst)) move(ctx, dst, &staged);
  else if (make_dense(ctx, dst, dst->storage->device, &arrived)) {
    move(ctx, &arrived, &staged);
    iso__view_copy(ctx, dst, &arrived);
    iso__storage_release(arrived.storage);
  }
  iso__storage_release(staged.storage);
}

iso_tensor *iso__tensor_new_in_order(iso_context *ctx, const iso__view *like, iso_dtype dtype) {
  iso__view form = *like, view;
  form.dtype = dtype;
  return !iso__failed(ctx) && make_dense(ctx, &form, iso__device_of(ctx), &view) ? iso__tensor_adopt(ctx, &view) : NULL;
}

iso_tensor *iso__tensor_to(iso_context *ctx, const iso__view *v, const iso__device *device) {
  iso__view view;
  if (iso__failed(ctx) || !make_dense(ctx, v, device, &view)) return NULL;
  iso_tensor *t = iso__tensor_adopt(ctx, &view);
  if (t) iso__view_copy(ctx, &t->view, v);
  /* What a capture copies may be something else at a replay. */
  if (t && !ctx->is_capturing && !v->storage->deleter && !view.storage->deleter &&
      atomic_load(&v->storage->version) == 0)
    t->view.storage->indices_below = v->storage->indices_below;
  return t;
}
