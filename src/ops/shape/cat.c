/* cat.c: joining tensors along an axis. */
#include "ops/ops.h"

static bool check(iso_context *ctx, int n, const iso_tensor *const *parts, int axis, int64_t *shape) {
  const iso__view *first = &parts[0]->view;
  memcpy(shape, first->shape, sizeof first->shape);
  shape[axis] = 0;
  for (int i = 0; i < n; i++) {
    const iso__view *v = &parts[i]->view;
    bool fits = v->n_dims == first->n_dims;
    for (int d = 0; d < first->n_dims && fits; d++) fits = d == axis || v->shape[d] == first->shape[d];
    char a[128], b[128];
    if (!fits)
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "cat", "part 1 is %s but part %d is %s: they may differ in axis %d only",
                iso__shape_text(first->n_dims, first->shape, a, sizeof a), i + 1,
                iso__shape_text(v->n_dims, v->shape, b, sizeof b), axis);
    else if (v->dtype != first->dtype)
      ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, "cat", "part 1 is %s but part %d is %s", iso_dtype_name(first->dtype), i + 1,
                iso_dtype_name(v->dtype));
    else if (__builtin_add_overflow(shape[axis], v->shape[axis], &shape[axis]))
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "cat", "the parts together are too long");
    if (iso__failed(ctx)) return false;
  }
  return true;
}

iso_tensor *iso_cat(iso_context *ctx, int n, const iso_tensor *const *parts, int axis) {
  ISO__AUTOCAST_LIST(ctx, "cat", n, parts, iso_cat(ctx, n, parts, axis));
  if (iso__failed(ctx)) return NULL;
  if (n < 1 || !parts) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "cat", "%d parts%s", n, parts ? "" : ", and their list is NULL");
    return NULL;
  }
  if (!iso__takes(ctx, "cat", n, parts)) return NULL;
  const int a = iso__axis(ctx, "cat", parts[0], axis);
  int64_t shape[ISO_MAX_DIMS];
  if (a < 0 || !check(ctx, n, parts, a, shape)) return NULL;
  iso__view like = parts[0]->view;
  memcpy(like.shape, shape, sizeof shape);
  bool channels_last = false; /* if a part is: a slice of one no longer looks like it */
  for (int i = 0; i < n; i++)
    channels_last |= iso__view_is_channels_last(&parts[i]->view) && !iso__view_is_contiguous(&parts[i]->view);
  iso_tensor *y = channels_last ? iso_tensor_new_channels_last(ctx, like.dtype, like.n_dims, shape)
                                : iso_tensor_new(ctx, like.dtype, like.n_dims, shape);
  int64_t at = 0;
  for (int i = 0; i < n && y; i++) {
    iso__view target;
    const int64_t end = at + parts[i]->view.shape[a];
    if (!iso__view_slice(ctx, &y->view, a, at, end, 1, &target)) return iso__drop(NULL, y);
    iso__view_copy(ctx, &target, &parts[i]->view);
    at = end;
  }
  return iso__finish(ctx, y, ISO_OK, ISO__RULE_CAT,
                     &(iso__finish_options){.inputs = parts, .n_inputs = n, .attrs = &a, .attr_bytes = sizeof a});
}

void iso__cat_gradient(iso__gradient *g) {
  const int axis = *(const int *)iso__attrs(g);
  const iso__view *whole = iso__output_view(g, 0);
  int64_t at = 0;
  for (int i = 0; at < whole->shape[axis]; i++) {
    const int64_t end = at + iso__input_view(g, i)->shape[axis];
    if (iso__needs(g, i)) g->dx[i] = iso_slice(g->ctx, g->dy[0], axis, at, end, 1);
    at = end;
  }
}
