/* copy.c: copies into another storage order or dtype, and in-place updates. */
#include "ops/shape/view.h"

iso_tensor *iso__copy_finish(iso_context *ctx, const iso_tensor *x, iso_tensor *y) {
  if (!y || !iso_dtype_is_float(y->view.dtype)) return y;
  const iso__device *device = x->view.storage->device;
  return iso__finish(
      ctx, y, ISO_OK, ISO__RULE_COPY,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .attrs = &device, .attr_bytes = sizeof device});
}
/* y = x's elements, cast once. */
static iso_tensor *copy_into(iso_context *ctx, const iso_tensor *x, iso_tensor *y) {
  if (y) iso__view_copy(ctx, &y->view, &x->view);
  return iso__copy_finish(ctx, x, y);
}
/* Back in x's dtype and on its device. */
void iso__copy_gradient(iso__gradient *g) {
  const iso_dtype dtype = iso__input_view(g, 0)->dtype;
  iso_tensor *dx = g->dy[0]->view.dtype == dtype ? g->dy[0] : iso_cast(g->ctx, g->dy[0], dtype);
  const iso__device *device = *(const iso__device *const *)iso__attrs(g);
  g->dx[0] = dx && dx->view.storage->device != device ? iso__move(g->ctx, dx, device) : dx;
}

/* A copy that stands for t: it has t's history, so that nothing is recorded and a tensor's gradients are added in the
 * same order whatever its storage. */
static iso_tensor *stand_in(iso_context *ctx, const iso_tensor *t, iso_tensor *copy) {
  if (!copy) return NULL;
  iso__view_copy(ctx, &copy->view, &t->view);
  copy->var = iso__var_retain(t->var);
  return copy;
}
static iso_tensor *new_channels_last(iso_context *ctx, const iso_tensor *t) {
  return iso_tensor_new_channels_last(ctx, t->view.dtype, t->view.n_dims, t->view.shape);
}
iso_tensor *iso__contiguous_copy(iso_context *ctx, const iso_tensor *t) {
  if (iso__failed(ctx) || iso__view_is_contiguous(&t->view)) return NULL;
  return stand_in(ctx, t, iso_tensor_new(ctx, t->view.dtype, t->view.n_dims, t->view.shape));
}
iso_tensor *iso__channels_last_copy(iso_context *ctx, const iso_tensor *t) {
  if (iso__failed(ctx) || iso__view_is_channels_last(&t->view)) return NULL;
  return stand_in(ctx, t, new_channels_last(ctx, t));
}

iso_tensor *iso_contiguous(iso_context *ctx, const iso_tensor *x) {
  if (!iso__takes(ctx, "contiguous", 1, &x)) return NULL;
  if (iso__view_is_contiguous(&x->view)) return iso_tensor_alias(ctx, x);
  return copy_into(ctx, x, iso_tensor_new(ctx, x->view.dtype, x->view.n_dims, x->view.shape));
}
iso_tensor *iso_channels_last(iso_context *ctx, const iso_tensor *x) {
  if (!iso__takes(ctx, "channels_last", 1, &x)) return NULL;
  if (!iso__has_channels(x->view.n_dims)) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "channels_last", "x is %s: 3 to 5 dimensions, (N,C,…), are needed",
              iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text));
    return NULL;
  }
  return iso__view_is_channels_last(&x->view) ? iso_tensor_alias(ctx, x) : copy_into(ctx, x, new_channels_last(ctx, x));
}

iso_tensor *iso_clone(iso_context *ctx, const iso_tensor *x) {
  if (!iso__takes(ctx, "clone", 1, &x)) return NULL;
  return copy_into(ctx, x, iso__tensor_new_like(ctx, &x->view, x->view.dtype));
}
static iso_tensor *cast_into(iso_context *ctx, const iso_tensor *x, iso_tensor *y) {
  if (!y) return NULL;
  iso__view_copy(ctx, &y->view, &x->view);
  const bool is_exact = y->view.dtype == ISO_F32 && iso__is_half(x->view.dtype);
  if (is_exact && !iso__view_widened(ctx, &y->view, &x->view)) return iso__drop(NULL, y);
  return iso__copy_finish(ctx, x, y);
}
iso_tensor *iso_cast(iso_context *ctx, const iso_tensor *x, iso_dtype dtype) {
  if (!iso__takes(ctx, "cast", 1, &x)) return NULL;
  if (x->view.dtype == dtype) return iso_tensor_alias(ctx, x);
  return cast_into(ctx, x, iso__tensor_new_like(ctx, &x->view, dtype));
}
iso_tensor *iso__cast_in_order(iso_context *ctx, const iso_tensor *x, iso_dtype dtype) {
  return cast_into(ctx, x, iso__tensor_new_in_order(ctx, &x->view, dtype));
}

/* ---- in place ---- */

/* Whether writing an element of dst may change another element of src: the same memory in another arrangement. */
static bool may_overlap(const iso__view *dst, const iso__view *src) {
  if (dst->storage != src->storage) return false;
  return dst->offset != src->offset ||
         memcmp(dst->strides, src->strides, sizeof dst->strides[0] * (size_t)dst->n_dims) != 0;
}

iso_status iso_accumulate(iso_tensor *dst, const iso_tensor *src, double alpha) {
  if (iso__check_in_place(dst, "accumulate") != ISO_OK) return dst ? dst->ctx->error.code : ISO_INVALID_ARGUMENT;
  iso_context *ctx = dst->ctx;
  if (!iso__takes(ctx, "accumulate", 1, &src) || !iso__takes_floats(ctx, "accumulate", 2, ISO__TENSORS(dst, src)))
    return src ? ctx->error.code : ISO_INVALID_ARGUMENT;
  if (!iso__same_shape(&dst->view, &src->view)) {
    char a[128], b[128];
    return ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "accumulate", "dst is %s but src %s",
                     iso__shape_text(dst->view.n_dims, dst->view.shape, a, sizeof a),
                     iso__shape_text(src->view.n_dims, src->view.shape, b, sizeof b));
  }
  iso_no_grad_push(ctx);
  iso_tensor *copy = may_overlap(&dst->view, &src->view) ? iso_clone(ctx, src) : NULL;
  iso_no_grad_pop(ctx);
  if (iso__failed(ctx)) return ctx->error.code;
  iso__map(ctx, "accumulate", ISO__MAP_FMA_SCALAR, 2, ISO__TENSORS(copy ? copy : src, dst), (const double[3]){alpha},
           dst);
  iso_tensor_touch(dst);
  iso_release(copy);
  return ctx->error.code;
}
