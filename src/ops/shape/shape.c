/* shape.c: views: reshape, permute, slice, expand and what is made of them. Storage is shared; only reshape may copy.
 */
#include "ops/shape/view.h"

iso_tensor *iso__record_view(iso_context *ctx, const iso_tensor *x, const iso__view *view, iso__rule_id rule,
                             const void *attrs, size_t attr_bytes) {
  return iso__finish(
      ctx, iso__tensor_from_view(ctx, view), ISO_OK, rule,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .attrs = attrs, .attr_bytes = attr_bytes});
}

iso_tensor *iso__view_bwd(iso_context *ctx, const iso_tensor *t, const iso__view *form, iso__show *show,
                          iso__rule_id rule, const void *attrs, size_t attr_bytes) {
  if (iso__failed(ctx) || !t) return NULL;
  iso__view part;
  iso_tensor *y = iso_tensor_zeros(ctx, t->view.dtype, form->n_dims, form->shape);
  if (!y || !show(ctx, &y->view, attrs, &part)) return iso__drop(NULL, y);
  iso__view_copy(ctx, &part, &t->view);
  return iso__finish(
      ctx, y, ISO_OK, rule,
      &(iso__finish_options){.inputs = ISO__TENSORS(t), .n_inputs = 1, .attrs = attrs, .attr_bytes = attr_bytes});
}

/* ---- reshape ---- */

/* Fills in the extent that is −1, and checks the number of elements. */
static bool infer(iso_context *ctx, const iso_tensor *x, int n_dims, const int64_t *wanted, int64_t *shape) {
  const int64_t numel = iso__view_numel(&x->view);
  int64_t known = 1;
  int open = -1;
  bool ok = n_dims >= 0 && n_dims <= ISO_MAX_DIMS;
  for (int d = 0; d < n_dims && ok; d++) {
    shape[d] = wanted[d];
    if (wanted[d] == -1 && open < 0) open = d;
    else ok = wanted[d] >= 0 && !__builtin_mul_overflow(known, wanted[d], &known);
  }
  if (ok && open >= 0) {
    ok = known > 0 && numel % known == 0;
    if (ok) shape[open] = numel / known;
  } else {
    ok = ok && known == numel;
  }
  if (ok) return true;
  char from[128], to[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "reshape", "%s with %lld elements cannot become %s",
            iso__shape_text(x->view.n_dims, x->view.shape, from, sizeof from), (long long)numel,
            n_dims >= 0 && n_dims <= ISO_MAX_DIMS ? iso__shape_text(n_dims, wanted, to, sizeof to)
                                                  : "that many dimensions");
  return false;
}

iso_tensor *iso_reshape(iso_context *ctx, const iso_tensor *x, int n_dims, const int64_t *shape) {
  int64_t full[ISO_MAX_DIMS];
  iso__view v;
  if (!iso__takes(ctx, "reshape", 1, &x)) return NULL;
  if (n_dims > 0 && !shape) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "reshape", "the shape is NULL");
    return NULL;
  }
  if (!infer(ctx, x, n_dims, shape, full)) return NULL;
  if (iso__view_reshape(ctx, &x->view, n_dims, full, &v))
    return iso__record_view(ctx, x, &v, ISO__RULE_RESHAPE, NULL, 0);
  iso_tensor *dense = iso_contiguous(ctx, x);
  if (!dense || !iso__view_reshape(ctx, &dense->view, n_dims, full, &v)) return iso__drop(NULL, dense);
  return iso__drop(iso__record_view(ctx, dense, &v, ISO__RULE_RESHAPE, NULL, 0), dense);
}
void iso__reshape_gradient(iso__gradient *g) {
  const iso__view *form = iso__input_view(g, 0);
  g->dx[0] = iso_reshape(g->ctx, g->dy[0], form->n_dims, form->shape);
}

iso_tensor *iso_flatten(iso_context *ctx, const iso_tensor *x, int first_axis, int last_axis) {
  if (!iso__takes(ctx, "flatten", 1, &x)) return NULL;
  if (x->view.n_dims == 0) return iso_reshape(ctx, x, 1, (const int64_t[]){1});
  const int first = iso__axis(ctx, "flatten", x, first_axis), last = iso__axis(ctx, "flatten", x, last_axis);
  if (first < 0 || last < 0) return NULL;
  if (first > last) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "flatten", "axis %d lies behind axis %d", first_axis, last_axis);
    return NULL;
  }
  int64_t shape[ISO_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < x->view.n_dims; d++)
    if (d > first && d <= last) shape[n - 1] *= x->view.shape[d];
    else shape[n++] = x->view.shape[d];
  return iso_reshape(ctx, x, n, shape);
}

iso_tensor *iso_squeeze(iso_context *ctx, const iso_tensor *x, int axis) {
  if (!iso__takes(ctx, "squeeze", 1, &x)) return NULL;
  const int a = iso__axis(ctx, "squeeze", x, axis);
  if (a < 0) return NULL;
  if (x->view.shape[a] != 1) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "squeeze", "axis %d of %s has not extent 1", axis,
              iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text));
    return NULL;
  }
  int64_t shape[ISO_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < x->view.n_dims; d++)
    if (d != a) shape[n++] = x->view.shape[d];
  return iso_reshape(ctx, x, n, shape);
}

iso_tensor *iso_unsqueeze(iso_context *ctx, const iso_tensor *x, int axis) {
  if (!iso__takes(ctx, "unsqueeze", 1, &x)) return NULL;
  const int n_dims = x->view.n_dims + 1, a = axis < 0 ? axis + n_dims : axis;
  if (a < 0 || a >= n_dims || n_dims > ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "unsqueeze", "axis %d of a tensor that would have %d dimensions", axis,
              n_dims);
    return NULL;
  }
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < n_dims; d++) shape[d] = d == a ? 1 : x->view.shape[d > a ? d - 1 : d];
  return iso_reshape(ctx, x, n_dims, shape);
}

/* ---- permute ---- */

iso_tensor *iso_permute(iso_context *ctx, const iso_tensor *x, const int *axes) {
  iso__view v;
  if (!iso__takes(ctx, "permute", 1, &x) || !iso__view_permute(ctx, &x->view, axes, &v)) return NULL;
  int order[ISO_MAX_DIMS];
  for (int d = 0; d < v.n_dims; d++) order[d] = axes[d] < 0 ? axes[d] + v.n_dims : axes[d];
  return iso__record_view(ctx, x, &v, ISO__RULE_PERMUTE, order, sizeof order[0] * (size_t)v.n_dims);
}
void iso__permute_gradient(iso__gradient *g) {
  const int *order = iso__attrs(g);
  int inverse[ISO_MAX_DIMS];
  for (int d = 0; d < iso__input_view(g, 0)->n_dims; d++) inverse[order[d]] = d;
  g->dx[0] = iso_permute(g->ctx, g->dy[0], inverse);
}

iso_tensor *iso_transpose(iso_context *ctx, const iso_tensor *x, int axis_a, int axis_b) {
  if (!iso__takes(ctx, "transpose", 1, &x)) return NULL;
  const int a = iso__axis(ctx, "transpose", x, axis_a), b = iso__axis(ctx, "transpose", x, axis_b);
  if (a < 0 || b < 0) return NULL;
  int order[ISO_MAX_DIMS];
  for (int d = 0; d < x->view.n_dims; d++) order[d] = d == a ? b : d == b ? a : d;
  return iso_permute(ctx, x, order);
}

/* ---- slice ---- */

static int64_t clip(int64_t i, int64_t extent) {
  if (i < 0) i += extent;
  return i < 0 ? 0 : i > extent ? extent : i;
}

iso_tensor *iso_slice(iso_context *ctx, const iso_tensor *x, int axis, int64_t begin, int64_t end, int64_t step) {
  iso__view v;
  if (!iso__takes(ctx, "slice", 1, &x) || !iso__view_slice(ctx, &x->view, axis, begin, end, step, &v)) return NULL;
  iso__slice s = {.axis = axis < 0 ? axis + x->view.n_dims : axis, .step = step};
  s.begin = clip(begin, x->view.shape[s.axis]), s.end = clip(end, x->view.shape[s.axis]);
  return iso__record_view(ctx, x, &v, ISO__RULE_SLICE, &s, sizeof s);
}
void iso__slice_gradient(iso__gradient *g) {
  g->dx[0] = iso__slice_bwd(g->ctx, g->dy[0], iso__input_view(g, 0), iso__attrs(g));
}

bool iso__show_slice(iso_context *ctx, const iso__view *whole, const void *attrs, iso__view *part) {
  const iso__slice *s = attrs;
  return iso__view_slice(ctx, whole, s->axis, s->begin, s->end, s->step, part);
}
iso_tensor *iso__slice_bwd(iso_context *ctx, const iso_tensor *t, const iso__view *form, const iso__slice *s) {
  return iso__view_bwd(ctx, t, form, iso__show_slice, ISO__RULE_SLICE_BWD, s, sizeof *s);
}
void iso__slice_bwd_gradient(iso__gradient *g) {
  const iso__slice *s = iso__attrs(g);
  g->dx[0] = iso_slice(g->ctx, g->dy[0], s->axis, s->begin, s->end, s->step);
}

iso_tensor *iso_select(iso_context *ctx, const iso_tensor *x, int axis, int64_t index) {
  if (!iso__takes(ctx, "select", 1, &x)) return NULL;
  const int a = iso__axis(ctx, "select", x, axis);
  if (a < 0) return NULL;
  const int64_t extent = x->view.shape[a], i = index < 0 ? index + extent : index;
  if (i < 0 || i >= extent) {
    char text[128];
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "select", "index %lld of axis %d of %s", (long long)index, axis,
              iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text));
    return NULL;
  }
  iso_tensor *one = iso_slice(ctx, x, a, i, i + 1, 1);
  return one ? iso__drop(iso_squeeze(ctx, one, a), one) : NULL;
}

/* ---- expand ---- */

iso_tensor *iso_expand(iso_context *ctx, const iso_tensor *x, int n_dims, const int64_t *shape) {
  iso__view v;
  if (!iso__takes(ctx, "expand", 1, &x) || !iso__view_expand(ctx, &x->view, n_dims, shape, &v)) return NULL;
  return iso__record_view(ctx, x, &v, ISO__RULE_EXPAND, NULL, 0);
}
void iso__expand_gradient(iso__gradient *g) { g->dx[0] = iso__sum_to(g->ctx, g->dy[0], iso__input_view(g, 0)); }
