/* planes.c: batches that may be missing and the storage in which kernels see tensors (N,C,…); pool.h. */
#include "ops/pool/pool.h"

iso_tensor *iso__batch(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes, bool *batched) {
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(x))) return NULL;
  const int n = x->view.n_dims;
  char text[128];
  bool empty = false;
  *batched = n == n_axes + 2;
  for (int d = *batched; d < n; d++) empty |= x->view.shape[d] == 0;
  if (!*batched && n != n_axes + 1)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x is %s: %d dimensions are needed, or %d without a batch",
              iso__shape_text(n, x->view.shape, text, sizeof text), n_axes + 2, n_axes + 1);
  else if (empty)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x is %s: only the batch may be empty",
              iso__shape_text(n, x->view.shape, text, sizeof text));
  if (iso__failed(ctx)) return NULL;
  return *batched ? iso_tensor_alias(ctx, x) : iso_unsqueeze(ctx, x, 0);
}
iso_tensor *iso__unbatch(iso_context *ctx, iso_tensor *y, bool batched) {
  return batched || !y ? y : iso__drop(iso_squeeze(ctx, y, 0), y);
}

iso__planes iso__planes_of(const iso_tensor *x) {
  const iso__view *v = &x->view;
  return (iso__planes){.n_dims = v->n_dims,
                       .n = v->shape[0],
                       .c = v->shape[1],
                       .planar = iso__view_is_contiguous(v) && (v->shape[1] == 1 || !iso__view_is_channels_last(v))};
}
iso_tensor *iso__planes_copy(iso_context *ctx, const iso__planes *f, const iso_tensor *t) {
  return f->planar ? iso__contiguous_copy(ctx, t) : iso__channels_last_copy(ctx, t);
}
iso_tensor *iso__planes_new(iso_context *ctx, const iso__planes *f, iso_dtype dtype, const int64_t extent[3]) {
  int64_t shape[5] = {f->n, f->c};
  for (int d = 2; d < f->n_dims; d++) shape[d] = extent[d + 3 - f->n_dims];
  return f->planar ? iso_tensor_new(ctx, dtype, f->n_dims, shape)
                   : iso_tensor_new_channels_last(ctx, dtype, f->n_dims, shape);
}
void iso__planes_extent(const iso_tensor *x, int64_t extent[3]) {
  for (int d = 0; d < 3; d++) {
    const int from = d + x->view.n_dims - 3;
    extent[d] = from >= 2 ? x->view.shape[from] : 1;
  }
}
