/* gather.c: picking by index and the sums that are its gradient; each is the other's gradient, so both can be
 * differentiated as often as wanted. gather, take_along_dim, index_select, take. */
#include "ops/index/index.h"

/* (outer,extent,inner) of a shape round an axis. */
static void split(const iso__view *v, int axis, int64_t *outer, int64_t *inner) {
  *outer = *inner = 1;
  for (int d = 0; d < axis; d++) *outer *= v->shape[d];
  for (int d = axis + 1; d < v->n_dims; d++) *inner *= v->shape[d];
}

/* y (…,n,…), on any device, with zeros where the index is the padding. */
static iso_tensor *without_padding(iso_context *ctx, iso_tensor *y, const iso_tensor *index, const iso__indexing *at) {
  int64_t shape[ISO_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
  shape[at->axis] = y->view.shape[at->axis];
  iso_no_grad_push(ctx);
  iso_tensor *is_padding = iso_eq(ctx, index, iso__scalar(ctx, ISO_I64, (double)at->padding));
  iso_tensor *clear = iso_masked_fill(ctx, y, iso_reshape(ctx, is_padding, y->view.n_dims, shape), 0);
  iso_no_grad_pop(ctx);
  return iso__drop(clear, y);
}
/* Rows of y (outer,n,inner), item by item of `index`, that stand for the padding become zeros. */
static void clear_padding(iso_tensor *y, const iso_tensor *index, const iso__indexing *at) {
  int64_t outer, inner;
  split(&y->view, at->axis, &outer, &inner);
  const int64_t n = y->view.shape[at->axis], *v = iso__data(index);
  const size_t row_bytes = (size_t)inner * iso_dtype_size(y->view.dtype);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t k = 0; k < n; k++)
      if (v[k] == at->padding) memset((char *)iso__data(y) + (size_t)(o * n + k) * row_bytes, 0, row_bytes);
}

iso_tensor *iso__gather_at(iso_context *ctx, const iso_tensor *x, const iso_tensor *index, const iso__indexing *at) {
  if (iso__failed(ctx) || !x || !index) return NULL;
  iso__indexing a = *at;
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, x->view.shape, sizeof shape);
  a.extent = shape[a.axis];
  shape[a.axis] = a.each ? index->view.shape[a.axis] : iso__view_numel(&index->view);
  iso_gather_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_GATHER, x->view.dtype);
  split(&x->view, a.axis, &p.outer, &p.inner);
  p.n = shape[a.axis], p.extent = a.extent, p.each = a.each;
  iso_tensor *copy = iso__contiguous_copy(ctx, x), *y = iso_tensor_new(ctx, x->view.dtype, x->view.n_dims, shape);
  const iso_gather_args args = {.x = iso__data(copy ? copy : x), .index = iso__data(index), .y = iso__data(y)};
  const iso_status status = y ? iso__execute(ctx, &p.head, &args) : ctx->error.code;
  iso_release(copy);
  if (y && status == ISO_OK && a.zeroes && a.padding >= 0) {
    if (iso__is_on_cpu(ctx)) clear_padding(y, index, &a);
    else y = without_padding(ctx, y, index, &a);
  }
  return iso__finish(ctx, y, status, ISO__RULE_GATHER,
                     &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                            .n_inputs = 1,
                                            .saved = ISO__TENSORS(index),
                                            .n_saved = 1,
                                            .attrs = &a,
                                            .attr_bytes = sizeof a});
}

iso_tensor *iso__index_frequencies(iso_context *ctx, const iso__view *form, const iso_tensor *index,
                                   const iso__indexing *at) {
  int64_t shape[ISO_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
  shape[at->axis] = at->extent;
  if (!iso__needs_cpu(ctx, "embedding", "scaling by frequency")) return NULL;
  iso_tensor *times = iso_tensor_zeros(ctx, ISO_I64, form->n_dims, shape);
  if (!times) return NULL;
  int64_t *count = iso__data(times);
  const int64_t *v = iso__data(index);
  for (int64_t i = 0; i < iso__view_numel(&index->view); i++) count[v[i]]++;
  for (int64_t r = 0; r < at->extent; r++) count[r] += count[r] == 0;
  return iso_cast(ctx, times, form->dtype);
}

void iso__gather_gradient(iso__gradient *g) {
  iso__indexing at = *(const iso__indexing *)iso__attrs(g);
  iso_tensor *index = iso__saved(g, 0), *dx;
  const bool by_frequency = at.by_frequency;
  at.by_frequency = false;
  dx = iso__scatter_sum(g->ctx, NULL, g->dy[0], index, &at);
  if (dx && by_frequency) dx = iso_div(g->ctx, dx, iso__index_frequencies(g->ctx, iso__input_view(g, 0), index, &at));
  g->dx[0] = dx;
}

/* ---- scattering ---- */

iso_tensor *iso__scatter_run(iso_context *ctx, iso__scatter_fn fn, iso__scatter_base how, const iso_tensor *base,
                             const iso_tensor *src, const iso_tensor *index, const iso__indexing *at) {
  if (iso__failed(ctx) || !src || !index) return NULL;
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, src->view.shape, sizeof shape);
  shape[at->axis] = at->extent;
  iso_scatter_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_SCATTER, src->view.dtype);
  split(&src->view, at->axis, &p.outer, &p.inner);
  p.n = src->view.shape[at->axis], p.extent = at->extent, p.each = at->each;
  p.fn = (uint8_t)fn, p.base = (uint8_t)(base ? how : ISO__SCATTER_NONE);
  iso_tensor *copies[] = {iso__contiguous_copy(ctx, src), base ? iso__contiguous_copy(ctx, base) : NULL};
  iso_tensor *y = iso_tensor_new(ctx, src->view.dtype, src->view.n_dims, shape);
  const iso_scatter_args args = {.x = iso__data(copies[0] ? copies[0] : src),
                                 .base = iso__data(copies[1] ? copies[1] : base),
                                 .index = iso__data(index),
                                 .y = iso__data(y)};
  const iso_status status = y ? iso__execute(ctx, &p.head, &args) : ctx->error.code;
  for (int i = 0; i < 2; i++) iso_release(copies[i]);
  return status == ISO_OK ? y : iso__drop(NULL, y);
}

/* f16 and bf16: in f32, rounded once. */
static iso_tensor *sum_halves(iso_context *ctx, const iso_tensor *base, const iso_tensor *src, const iso_tensor *index,
                              const iso__indexing *at) {
  iso__enter(ctx);
  iso_tensor *wide_base = base ? iso_cast(ctx, base, ISO_F32) : NULL, *wide = iso_cast(ctx, src, ISO_F32);
  iso_tensor *y = base && !wide_base ? NULL : iso__scatter_sum(ctx, wide_base, wide, index, at);
  return iso__leave(ctx, y ? iso_cast(ctx, y, src->view.dtype) : NULL);
}

iso_tensor *iso__scatter_sum(iso_context *ctx, const iso_tensor *base, const iso_tensor *src, const iso_tensor *index,
                             const iso__indexing *at) {
  if (iso__failed(ctx) || !src || !index) return NULL;
  if (iso__is_half(src->view.dtype)) return sum_halves(ctx, base, src, index, at);
  iso_tensor *y = iso__scatter_run(ctx, ISO__SCATTER_ADD, ISO__SCATTER_INCLUDED, base, src, index, at);
  if (y && at->padding >= 0) {
    int64_t outer, inner;
    split(&y->view, at->axis, &outer, &inner);
    const size_t row_bytes = (size_t)inner * iso_dtype_size(y->view.dtype);
    for (int64_t o = 0; o < outer; o++)
      iso__clear_bytes(y, (size_t)(o * at->extent + at->padding) * row_bytes, row_bytes);
  }
  return iso__finish(ctx, y, ISO_OK, ISO__RULE_SCATTER_SUM,
                     &(iso__finish_options){.inputs = ISO__TENSORS(base, src),
                                            .n_inputs = 2,
                                            .saved = ISO__TENSORS(index),
                                            .n_saved = 1,
                                            .attrs = at,
                                            .attr_bytes = sizeof *at});
}
void iso__scatter_sum_gradient(iso__gradient *g) {
  iso__indexing at = *(const iso__indexing *)iso__attrs(g);
  at.zeroes = true;
  if (iso__needs(g, 0)) g->dx[0] = g->dy[0];
  if (iso__needs(g, 1)) g->dx[1] = iso__gather_at(g->ctx, g->dy[0], iso__saved(g, 0), &at);
}

/* ---- the operators ---- */

/* t cut to the extents of form in all axes but `axis`. */
static iso_tensor *cut(iso_context *ctx, const iso_tensor *t, const iso__view *form, int axis) {
  iso_tensor *cut = iso_tensor_alias(ctx, t);
  for (int d = 0; d < form->n_dims && cut; d++)
    if (d != axis && cut->view.shape[d] != form->shape[d]) cut = iso_slice(ctx, cut, d, 0, form->shape[d], 1);
  return cut;
}

/* index's extents must not exceed x's but along axis. */
static bool fits(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *index, int axis) {
  bool ok = x->view.n_dims == index->view.n_dims;
  for (int d = 0; d < x->view.n_dims && ok; d++) ok = d == axis || index->view.shape[d] <= x->view.shape[d];
  char a[128], b[128];
  if (!ok)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op,
              "x is %s and index %s: as many axes, and but along axis %d no larger extents",
              iso__shape_text(x->view.n_dims, x->view.shape, a, sizeof a),
              iso__shape_text(index->view.n_dims, index->view.shape, b, sizeof b), axis);
  return ok;
}

iso_tensor *iso_gather(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index) {
  if (!iso__takes(ctx, "gather", 2, ISO__TENSORS(x, index))) return NULL;
  iso__enter(ctx);
  iso_tensor *x1 = iso__at_least_1d(ctx, x), *i1 = iso__at_least_1d(ctx, index), *y = NULL;
  iso__indexing at = {.each = true, .padding = -1};
  if (x1 && i1 && (at.axis = iso__axis(ctx, "gather", x1, axis)) >= 0 && fits(ctx, "gather", x1, i1, at.axis)) {
    iso_tensor *v = iso__index_read(ctx, "gather", "index", i1, x1->view.shape[at.axis], false);
    y = iso__gather_at(ctx, cut(ctx, x1, &i1->view, at.axis), v, &at);
  }
  return iso__leave(ctx, iso__like_0d(ctx, index, y));
}

/* The broadcast of x's and index's extents but along axis; there each keeps its own. */
iso_tensor *iso_take_along_dim(iso_context *ctx, const iso_tensor *x, const iso_tensor *index, int axis) {
  if (!iso__takes(ctx, "take_along_dim", 2, ISO__TENSORS(x, index))) return NULL;
  if (x->view.n_dims != index->view.n_dims) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "take_along_dim", "x has %d axes but index %d", x->view.n_dims,
              index->view.n_dims);
    return NULL;
  }
  if (x->view.n_dims == 0) return iso_gather(ctx, x, axis, index);
  const int a = iso__axis(ctx, "take_along_dim", x, axis);
  iso__view form_x = x->view, form_i = index->view;
  int64_t shape[ISO_MAX_DIMS];
  int n_dims;
  if (a < 0) return NULL;
  form_x.shape[a] = form_i.shape[a] = 1;
  if (!iso__broadcast(ctx, "take_along_dim", &form_x, &form_i, &n_dims, shape)) return NULL;
  iso__enter(ctx);
  shape[a] = x->view.shape[a];
  iso_tensor *wide_x = iso_expand(ctx, x, n_dims, shape);
  shape[a] = index->view.shape[a];
  iso_tensor *wide_i = iso_expand(ctx, index, n_dims, shape);
  iso__indexing at = {.axis = a, .each = true, .padding = -1};
  iso_tensor *v = iso__index_read(ctx, "take_along_dim", "index", wide_i, x->view.shape[a], true);
  return iso__leave(ctx, iso__gather_at(ctx, wide_x, v, &at));
}

/* (n) or one number. */
static bool is_list(iso_context *ctx, const char *op, const iso_tensor *index) {
  if (index->view.n_dims <= 1) return true;
  char text[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "index is %s: one axis is needed",
            iso__shape_text(index->view.n_dims, index->view.shape, text, sizeof text));
  return false;
}

iso_tensor *iso_index_select(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index) {
  if (!iso__takes(ctx, "index_select", 2, ISO__TENSORS(x, index)) || !is_list(ctx, "index_select", index)) return NULL;
  iso__enter(ctx);
  iso_tensor *x1 = iso__at_least_1d(ctx, x), *y = NULL;
  iso__indexing at = {.padding = -1};
  if (x1 && (at.axis = iso__axis(ctx, "index_select", x1, axis)) >= 0)
    y = iso__gather_at(ctx, x1, iso__index_read(ctx, "index_select", "index", index, x1->view.shape[at.axis], false),
                       &at);
  return iso__leave(ctx, iso__like_0d(ctx, x, y));
}

iso_tensor *iso_take(iso_context *ctx, const iso_tensor *x, const iso_tensor *index) {
  if (!iso__takes(ctx, "take", 2, ISO__TENSORS(x, index))) return NULL;
  iso__enter(ctx);
  iso_tensor *flat = iso_reshape(ctx, x, 1, ISO_DIMS(-1)), *v = NULL;
  if (flat) v = iso__index_read(ctx, "take", "index", index, flat->view.shape[0], true);
  iso_tensor *y = iso__gather_at(ctx, flat, v, &(iso__indexing){.padding = -1});
  return iso__leave(ctx, y ? iso_reshape(ctx, y, index->view.n_dims, index->view.shape) : NULL);
}
