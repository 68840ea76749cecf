/* flip.c: axes in reverse, as views; quarter turns and rolls made of them. */
#include "ops/shape/view.h"

typedef struct reversed {
  bool axis[ISO_MAX_DIMS];
} reversed;

static iso_tensor *flip(iso_context *ctx, const iso_tensor *x, const reversed *r) {
  iso__view v = x->view;
  for (int d = 0; d < v.n_dims; d++) {
    if (!r->axis[d]) continue;
    if (v.shape[d] > 0) v.offset += (v.shape[d] - 1) * v.strides[d];
    v.strides[d] = -v.strides[d];
  }
  return iso__record_view(ctx, x, &v, ISO__RULE_FLIP, r, sizeof *r);
}

iso_tensor *iso_flip(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes) {
  if (!iso__takes(ctx, "flip", 1, &x)) return NULL;
  if (n_axes < 0 || n_axes > x->view.n_dims || (n_axes > 0 && !axes)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "flip", "%d axes of %d%s", n_axes, x->view.n_dims,
              axes ? "" : ", and their list is NULL");
    return NULL;
  }
  reversed r = {{false}};
  for (int d = 0; d < x->view.n_dims; d++) r.axis[d] = n_axes == 0;
  for (int i = 0; i < n_axes; i++) {
    const int a = iso__axis(ctx, "flip", x, axes[i]);
    if (a < 0) return NULL;
    if (r.axis[a]) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "flip", "axis %d is named twice", axes[i]);
      return NULL;
    }
    r.axis[a] = true;
  }
  return flip(ctx, x, &r);
}
void iso__flip_gradient(iso__gradient *g) { g->dx[0] = flip(g->ctx, g->dy[0], iso__attrs(g)); }

iso_tensor *iso_rot90(iso_context *ctx, const iso_tensor *x, int k, int axis_a, int axis_b) {
  if (!iso__takes(ctx, "rot90", 1, &x)) return NULL;
  const int a = iso__axis(ctx, "rot90", x, axis_a), b = iso__axis(ctx, "rot90", x, axis_b);
  if (a < 0 || b < 0) return NULL;
  if (a == b) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "rot90", "axis %d is named twice", axis_a);
    return NULL;
  }
  const int turns = (k % 4 + 4) % 4;
  if (turns == 0) return iso_tensor_alias(ctx, x);
  if (turns == 2) return iso_flip(ctx, x, 2, (const int[]){a, b});
  iso_tensor *turned = turns == 1 ? iso_flip(ctx, x, 1, &b) : iso_transpose(ctx, x, a, b);
  return iso__drop(turns == 1 ? iso_transpose(ctx, turned, a, b) : iso_flip(ctx, turned, 1, &b), turned);
}

static iso_tensor *roll_axis(iso_context *ctx, const iso_tensor *x, int64_t shift, int axis) {
  const int64_t extent = x->view.shape[axis], by = extent ? (shift % extent + extent) % extent : 0;
  if (by == 0) return iso_tensor_alias(ctx, x);
  iso_tensor *last = iso_slice(ctx, x, axis, extent - by, extent, 1),
             *first = iso_slice(ctx, x, axis, 0, extent - by, 1);
  iso_tensor *y = iso_cat(ctx, 2, ISO__TENSORS(last, first), axis);
  iso_release(first);
  return iso__drop(y, last);
}

iso_tensor *iso_roll(iso_context *ctx, const iso_tensor *x, int n, const int64_t *shifts, const int *axes) {
  if (!iso__takes(ctx, "roll", 1, &x)) return NULL;
  if (n < 1 || !shifts || !axes) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "roll", "%d shifts%s", n, shifts && axes ? "" : ", and a list is NULL");
    return NULL;
  }
  iso_tensor *y = iso_tensor_alias(ctx, x);
  for (int i = 0; i < n && y; i++) {
    const int a = iso__axis(ctx, "roll", x, axes[i]);
    y = iso__drop(a < 0 ? NULL : roll_axis(ctx, y, shifts[i], a), y);
  }
  return y;
}
