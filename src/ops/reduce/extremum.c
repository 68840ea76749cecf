/* extremum.c: the largest and smallest elements, and where they are. No order is needed: any NaN gives NaN, a zero is
 * +0. */
#include "ops/reduce/reduce.h"

static bool read_axes(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes, const int *axes,
                      bool keep_dims, iso__axes *out) {
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(x)) || !iso__axes_read(ctx, op, x, n_axes, axes, keep_dims, out))
    return false;
  if (out->n > 0) return true;
  char text[160];
  iso_tensor_format(x, text, sizeof text);
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "x is %s: nothing to choose from", text);
  return false;
}

iso_tensor *iso_amax(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  iso__axes a;
  if (!read_axes(ctx, "amax", x, n_axes, axes, keep_dims, &a)) return NULL;
  return iso__reduce_finish(ctx, ISO__REDUCE_MAX, ISO__RULE_AMAX, x, &a, true, true);
}

iso_tensor *iso_amin(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  iso__axes a;
  if (!read_axes(ctx, "amin", x, n_axes, axes, keep_dims, &a)) return NULL;
  return iso__reduce_finish(ctx, ISO__REDUCE_MIN, ISO__RULE_AMIN, x, &a, true, true);
}

/* Shared equally by the elements that equal the result. */
void iso__extremum_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__axes *axes = iso__attrs(g);
  const iso__view *form = iso__input_view(g, 0);
  int list[ISO_MAX_DIMS], n = 0;
  for (int d = 0; d < form->n_dims; d++)
    if (axes->reduced[d]) list[n++] = d;
  iso_tensor *best = iso__reduced_keep(ctx, iso__saved(g, 1), form, axes);
  iso_tensor *chosen = iso_cast(ctx, iso_eq(ctx, iso__saved(g, 0), best), form->dtype);
  iso_tensor *share = iso_div(ctx, iso__reduced_keep(ctx, g->dy[0], form, axes), iso_sum(ctx, chosen, n, list, true));
  g->dx[0] = iso_mul(ctx, chosen, share);
}

static iso_tensor *position(iso_context *ctx, const char *op, iso__reduce_fn fn, const iso_tensor *x, int axis,
                            bool keep_dim) {
  iso__axes a;
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(x))) return NULL;
  if (x->view.n_dims == 0) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "axis %d of a tensor without dimensions", axis);
    return NULL;
  }
  return read_axes(ctx, op, x, 1, &axis, keep_dim, &a) ? iso__reduce(ctx, fn, x, &a) : NULL;
}
iso_tensor *iso_argmax(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim) {
  return position(ctx, "argmax", ISO__REDUCE_ARGMAX, x, axis, keep_dim);
}
iso_tensor *iso_argmin(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim) {
  return position(ctx, "argmin", ISO__REDUCE_ARGMIN, x, axis, keep_dim);
}
