/* replace.c: a tensor's copy with a part of it replaced, the part being what a view shows. */
#include "ops/shape/view.h"

iso_tensor *iso__replace(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *t, iso__show *show,
                         iso__rule_id rule, const void *attrs, size_t attr_bytes) {
  iso__view part;
  if (!show(ctx, &x->view, attrs, &part)) return NULL;
  if (t->view.dtype != x->view.dtype || !iso__same_shape(&t->view, &part)) {
    char is[128], wanted[128];
    ISO__FAIL(ctx, t->view.dtype != x->view.dtype ? ISO_DTYPE_MISMATCH : ISO_SHAPE_MISMATCH, op,
              "the part is %s %s where %s %s is needed", iso_dtype_name(t->view.dtype),
              iso__shape_text(t->view.n_dims, t->view.shape, is, sizeof is), iso_dtype_name(x->view.dtype),
              iso__shape_text(part.n_dims, part.shape, wanted, sizeof wanted));
    return NULL;
  }
  iso_tensor *y = iso__tensor_new_like(ctx, &x->view, x->view.dtype);
  if (!y || !show(ctx, &y->view, attrs, &part)) return iso__drop(NULL, y);
  iso__view_copy(ctx, &y->view, &x->view);
  iso__view_copy(ctx, &part, &t->view);
  return iso__finish(
      ctx, y, ISO_OK, rule,
      &(iso__finish_options){.inputs = ISO__TENSORS(x, t), .n_inputs = 2, .attrs = attrs, .attr_bytes = attr_bytes});
}

iso_tensor *iso_slice_scatter(iso_context *ctx, const iso_tensor *x, const iso_tensor *part, int axis, int64_t begin,
                              int64_t end, int64_t step) {
  if (!iso__takes(ctx, "slice_scatter", 2, ISO__TENSORS(x, part))) return NULL;
  iso__slice s;
  memset(&s, 0, sizeof s);
  s.axis = iso__axis(ctx, "slice_scatter", x, axis), s.begin = begin, s.end = end, s.step = step;
  if (s.axis < 0) return NULL;
  return iso__replace(ctx, "slice_scatter", x, part, iso__show_slice, ISO__RULE_SLICE_SCATTER, &s, sizeof s);
}
void iso__slice_scatter_gradient(iso__gradient *g) {
  const iso__slice *s = iso__attrs(g);
  const iso__view *part = iso__input_view(g, 1);
  if (iso__needs(g, 0)) {
    iso_tensor *none = iso_tensor_zeros(g->ctx, part->dtype, part->n_dims, part->shape);
    g->dx[0] = iso_slice_scatter(g->ctx, g->dy[0], none, s->axis, s->begin, s->end, s->step);
  }
  if (iso__needs(g, 1)) g->dx[1] = iso_slice(g->ctx, g->dy[0], s->axis, s->begin, s->end, s->step);
}

iso_tensor *iso_select_scatter(iso_context *ctx, const iso_tensor *x, const iso_tensor *part, int axis, int64_t index) {
  if (!iso__takes(ctx, "select_scatter", 2, ISO__TENSORS(x, part))) return NULL;
  const int a = iso__axis(ctx, "select_scatter", x, axis);
  if (a < 0) return NULL;
  const int64_t extent = x->view.shape[a], i = index < 0 ? index + extent : index;
  if (i < 0 || i >= extent) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "select_scatter", "index %lld of axis %d, whose extent is %lld",
              (long long)index, axis, (long long)extent);
    return NULL;
  }
  iso_tensor *wide = iso_unsqueeze(ctx, part, a);
  return wide ? iso__drop(iso_slice_scatter(ctx, x, wide, a, i, i + 1, 1), wide) : NULL;
}
