/* extremum.c: the largest and smallest elements, and where they are. No order is needed: any NaN gives NaN, a zero is
 * +0. */
#include "ops/reduce/reduce.h"

bool iso__extremum_axes_read(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes, const int *axes,
                             bool keep_dims, iso__axes *out) {
  if (!iso__axes_read(ctx, op, x, n_axes, axes, keep_dims, out)) return false;
  if (out->n > 0) return true;
  char text[160];
  iso_tensor_format(x, text, sizeof text);
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "x is %s: nothing to choose from", text);
  return false;
}
static bool read_axes(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes, const int *axes,
                      bool keep_dims, iso__axes *out) {
  return iso__takes_dtypes(ctx, op, ISO__FLOAT_DTYPES | ISO__WHOLE_DTYPES, 1, ISO__TENSORS(x)) &&
         iso__extremum_axes_read(ctx, op, x, n_axes, axes, keep_dims, out);
}

/* ---- over any axes ---- */

iso_tensor *iso_amax(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  if (iso__reduce_is_half(ctx, x)) return iso__reduce_half(ctx, iso_amax, x, n_axes, axes, keep_dims);
  iso__axes a;
  if (!read_axes(ctx, "amax", x, n_axes, axes, keep_dims, &a)) return NULL;
  return iso__reduce_finish(ctx, ISO__REDUCE_MAX, ISO__RULE_AMAX, x, &a, true, true);
}
iso_tensor *iso_amin(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  if (iso__reduce_is_half(ctx, x)) return iso__reduce_half(ctx, iso_amin, x, n_axes, axes, keep_dims);
  iso__axes a;
  if (!read_axes(ctx, "amin", x, n_axes, axes, keep_dims, &a)) return NULL;
  return iso__reduce_finish(ctx, ISO__REDUCE_MIN, ISO__RULE_AMIN, x, &a, true, true);
}
iso_tensor *iso_aminmax(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                        iso_tensor **max) {
  iso_tensor *smallest = iso_amin(ctx, x, n_axes, axes, keep_dims);
  iso_tensor *largest = smallest && max ? iso_amax(ctx, x, n_axes, axes, keep_dims) : NULL;
  if (max) *max = largest;
  if (!max || largest) return smallest;
  iso_release(smallest);
  return NULL;
}

iso_tensor *iso__share(iso_context *ctx, const iso_tensor *chosen, const iso_tensor *dy, const iso__view *x,
                       const iso__axes *axes) {
  int list[ISO_MAX_DIMS];
  iso_tensor *n_chosen = iso_cast(ctx, iso_sum(ctx, chosen, iso__axes_list(axes, x, list), list, true), x->dtype);
  iso_tensor *share = iso_div(ctx, iso__reduced_keep(ctx, dy, x, axes), n_chosen);
  return iso_mul(ctx, iso_cast(ctx, chosen, x->dtype), share);
}
void iso__extremum_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__axes *axes = iso__attrs(g);
  const iso__view *form = iso__input_view(g, 0);
  iso_tensor *best = iso__reduced_keep(ctx, iso__saved(g, 1), form, axes);
  g->dx[0] = iso__share(ctx, iso_eq(ctx, iso__saved(g, 0), best), g->dy[0], form, axes);
}

/* ---- along one axis, with positions ---- */

static iso_tensor *choose(iso_context *ctx, const char *op, iso__reduce_fn fn, const iso_tensor *x, int axis,
                          bool keep_dim, iso_tensor **index) {
  ISO__HALVES(ctx, choose(ctx, op, fn, x, axis, keep_dim, index), &x);
  iso__axes a;
  if (index) *index = NULL;
  if (!read_axes(ctx, op, x, 1, &axis, keep_dim, &a)) return NULL;
  iso_tensor *at, *y = iso__reduce_two(ctx, fn, x, &a, 0, &at);
  iso_tensor *result = iso__finish(ctx, y, ISO_OK, ISO__RULE_CHOOSE,
                                   &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                                          .n_inputs = 1,
                                                          .saved = ISO__TENSORS(at),
                                                          .n_saved = 1,
                                                          .attrs = &a,
                                                          .attr_bytes = sizeof a});
  if (index && result) *index = at;
  else iso_release(at);
  return result;
}
iso_tensor *iso_max(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **index) {
  return choose(ctx, "max", ISO__REDUCE_MAX_AT, x, axis, keep_dim, index);
}
iso_tensor *iso_min(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **index) {
  return choose(ctx, "min", ISO__REDUCE_MIN_AT, x, axis, keep_dim, index);
}

/* 0, 1, 2, … along the reduced axis of form's shape, elsewhere extents of 1. */
static iso_tensor *positions(iso_context *ctx, const iso__view *form, const iso__axes *axes) {
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < form->n_dims; d++) shape[d] = axes->reduced[d] ? form->shape[d] : 1;
  iso_tensor *t = iso_tensor_new(ctx, ISO_I64, form->n_dims, shape);
  for (int64_t i = 0, *at = iso__data(t); t && i < axes->n; i++) at[i] = i;
  return t;
}
/* dy at the chosen position, 0 elsewhere. */
void iso__choose_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__axes *axes = iso__attrs(g);
  const iso__view *form = iso__input_view(g, 0);
  iso_tensor *at = iso__reduced_keep(ctx, iso__saved(g, 0), form, axes);
  iso_tensor *chosen = iso_eq(ctx, positions(ctx, form, axes), at);
  g->dx[0] = iso_where(ctx, chosen, iso__reduced_keep(ctx, g->dy[0], form, axes), iso__scalar(ctx, form->dtype, 0));
}

/* ---- positions alone ---- */

static iso_tensor *position(iso_context *ctx, const char *op, iso__reduce_fn fn, const iso_tensor *x, int n_axes,
                            const int *axes, bool keep_dim) {
  iso__axes a;
  return read_axes(ctx, op, x, n_axes, axes, keep_dim, &a) ? iso__reduce(ctx, fn, x, &a) : NULL;
}
iso_tensor *iso_argmax(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim) {
  return position(ctx, "argmax", ISO__REDUCE_ARGMAX, x, 1, &axis, keep_dim);
}
iso_tensor *iso_argmin(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim) {
  return position(ctx, "argmin", ISO__REDUCE_ARGMIN, x, 1, &axis, keep_dim);
}
iso_tensor *iso_argmax_all(iso_context *ctx, const iso_tensor *x) {
  return position(ctx, "argmax_all", ISO__REDUCE_ARGMAX, x, 0, NULL, false);
}
iso_tensor *iso_argmin_all(iso_context *ctx, const iso_tensor *x) {
  return position(ctx, "argmin_all", ISO__REDUCE_ARGMIN, x, 0, NULL, false);
}
