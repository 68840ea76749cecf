/* scatter.c: a copy of x with other elements in the indexed places: overwritten (the last source wins), added to,
 * multiplied, compared; element by element (scatter…) or by whole slices (index_…).
 *
 * The gradient of overwriting knows who won: a source that another one overwrote gets none. */
#include "ops/index/index.h"

/* ---- overwriting ---- */

iso_tensor *iso__scatter_set(iso_context *ctx, const iso_tensor *base, const iso_tensor *src, const iso_tensor *index,
                             const iso__indexing *at) {
  return iso__finish(ctx, iso__scatter_run(ctx, ISO__SCATTER_SET, ISO__SCATTER_INCLUDED, base, src, index, at), ISO_OK,
                     ISO__RULE_SCATTER_SET,
                     &(iso__finish_options){.inputs = ISO__TENSORS(base, src),
                                            .n_inputs = 2,
                                            .saved = ISO__TENSORS(index),
                                            .n_saved = 1,
                                            .attrs = at,
                                            .attr_bytes = sizeof *at});
}

/* Positions in src, row-major, of what was overwritten by a later source: NULL if nothing was. src's shape is `form`.
 */
static iso_tensor *overwritten(iso_context *ctx, const iso__view *form, const iso_tensor *index,
                               const iso__indexing *at) {
  const bool each = at->each;
  const int64_t n = each ? iso__view_numel(form) : form->shape[at->axis];
  iso_tensor *order =
      each ? iso_tensor_new(ctx, ISO_I64, form->n_dims, form->shape) : iso_tensor_new(ctx, ISO_I64, 1, &n);
  if (!order) return NULL;
  int64_t *number = iso__data(order);
  for (int64_t i = 0; i < n; i++) number[i] = i;
  const iso__indexing line = {.axis = each ? at->axis : 0, .each = each, .extent = at->extent, .padding = -1};
  iso_tensor *last = iso__scatter_run(ctx, ISO__SCATTER_SET, ISO__SCATTER_NONE, NULL, order, index, &line);
  iso_tensor *winner = iso__gather_at(ctx, last, index, &line);
  if (!winner) return NULL;
  const int64_t *w = iso__data(winner);
  int64_t n_lost = 0, inner = 1, outer = 1;
  for (int64_t i = 0; i < n; i++) n_lost += w[i] != i;
  if (n_lost == 0) return NULL;
  for (int d = 0; d < form->n_dims && !each; d++)
    if (d != at->axis) *(d < at->axis ? &outer : &inner) *= form->shape[d];
  const int64_t total = n_lost * outer * inner;
  iso_tensor *lost = iso_tensor_new(ctx, ISO_I64, 1, &total);
  if (!lost) return NULL;
  int64_t *to = iso__data(lost);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < inner && w[i] != i; j++) *to++ = (o * n + i) * inner + j;
  return lost;
}

void iso__scatter_set_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__indexing *at = iso__attrs(g);
  const iso__view *form = iso__input_view(g, 1);
  iso_tensor *index = iso__saved(g, 0), *dy = g->dy[0];
  if (iso__needs(g, 0))
    g->dx[0] = iso__scatter_set(ctx, dy, iso_tensor_zeros(ctx, dy->view.dtype, form->n_dims, form->shape), index, at);
  if (!iso__needs(g, 1)) return;
  iso_tensor *dx = iso__gather_at(ctx, dy, index, at), *lost = overwritten(ctx, form, index, at);
  if (dx && lost) {
    iso_tensor *zeros = iso_tensor_zeros(ctx, dx->view.dtype, 1, lost->view.shape);
    iso_tensor *flat = iso_reshape(ctx, dx, 1, ISO_DIMS(-1));
    const iso__indexing all = {.extent = iso__view_numel(form), .padding = -1};
    dx = iso_reshape(ctx, iso__scatter_set(ctx, flat, zeros, lost, &all), form->n_dims, form->shape);
  }
  g->dx[1] = dx;
}

/* ---- means, products, extrema ---- */

typedef struct reduced {
  iso__indexing at;
  iso_combine combine;
  bool include;
} reduced;

iso_tensor *iso__scatter_reduced(iso_context *ctx, const iso_tensor *base, const iso_tensor *src,
                                 const iso_tensor *index, const iso__indexing *at, iso_combine combine, bool include) {
  static const iso__scatter_fn fn[] = {[ISO_COMBINE_SUM] = ISO__SCATTER_ADD,
                                       [ISO_COMBINE_MEAN] = ISO__SCATTER_MEAN,
                                       [ISO_COMBINE_PROD] = ISO__SCATTER_MUL,
                                       [ISO_COMBINE_AMAX] = ISO__SCATTER_AMAX,
                                       [ISO_COMBINE_AMIN] = ISO__SCATTER_AMIN};
  const reduced attrs = {.at = *at, .combine = combine, .include = include};
  if (combine == ISO_COMBINE_SUM && include) return iso__scatter_sum(ctx, base, src, index, at);
  iso_tensor *y =
      iso__scatter_run(ctx, fn[combine], include ? ISO__SCATTER_INCLUDED : ISO__SCATTER_EXCLUDED, base, src, index, at);
  const bool reads = combine != ISO_COMBINE_SUM && combine != ISO_COMBINE_MEAN;
  return iso__finish(
      ctx, y, ISO_OK, ISO__RULE_SCATTER_REDUCE,
      &(iso__finish_options){.inputs = ISO__TENSORS(base, src),
                             .n_inputs = 2,
                             .saved = ISO__TENSORS(index, reads ? base : NULL, reads ? src : NULL, reads ? y : NULL),
                             .n_saved = 4,
                             .attrs = &attrs,
                             .attr_bytes = sizeof attrs});
}

/* What the rule below works with. */
typedef struct rule {
  iso_context *ctx;
  const reduced *r;
  iso_tensor *index, *dy;
  const iso__view *base, *src;
  bool for_base, for_src; /* whose gradient is wanted */
} rule;
static iso_tensor *pick(const rule *k, const iso_tensor *t) { return iso__gather_at(k->ctx, t, k->index, &k->r->at); }
/* How many contributions each destination has (values 0 and 1 of src's shape add up exactly), one more with the base's
 * `own` included. */
static iso_tensor *count(const rule *k, const iso_tensor *values, const iso_tensor *own) {
  return iso__scatter_sum(k->ctx, k->r->include ? own : NULL, values, k->index, &k->r->at);
}
static iso_tensor *full(const rule *k, const iso__view *form, double value) {
  return iso_tensor_full(k->ctx, form->dtype, form->n_dims, form->shape, value);
}
static iso_tensor *equal(const rule *k, const iso_tensor *a, const iso_tensor *b) {
  return iso_cast(k->ctx, iso_eq(k->ctx, a, b), k->base->dtype);
}
/* dy where nothing arrived, else zero: the gradient of a base that only stays there. */
static iso_tensor *untouched(const rule *k) {
  return iso__scatter_set(k->ctx, k->dy, full(k, k->src, 0), k->index, &k->r->at);
}

static void mean_gradient(const rule *k, iso_tensor **dbase, iso_tensor **dsrc) {
  iso_tensor *n = count(k, full(k, k->src, 1), full(k, k->base, 1));
  if (k->for_base) *dbase = k->r->include ? iso_div(k->ctx, k->dy, n) : untouched(k);
  if (k->for_src) *dsrc = iso_div(k->ctx, pick(k, k->dy), pick(k, n));
}

/* The result's gradient is shared by all that equal it. */
static void extremum_gradient(const rule *k, const iso_tensor *base, const iso_tensor *src, const iso_tensor *y,
                              iso_tensor **dbase, iso_tensor **dsrc) {
  iso_tensor *mine = equal(k, base, y), *chosen = equal(k, src, pick(k, y)), *n = count(k, chosen, mine);
  if (k->for_base) *dbase = k->r->include ? iso_div(k->ctx, iso_mul(k->ctx, mine, k->dy), n) : untouched(k);
  if (k->for_src) *dsrc = iso_div(k->ctx, iso_mul(k->ctx, chosen, pick(k, k->dy)), pick(k, n));
}

/* Product of the others: with p the product of all that is not zero, p/x without a zero, p at the only zero, else 0. */
static void product_gradient(const rule *k, const iso_tensor *base, const iso_tensor *src, iso_tensor **dbase,
                             iso_tensor **dsrc) {
  iso_context *ctx = k->ctx;
  const iso__indexing *at = &k->r->at;
  iso_tensor *ones = full(k, k->base, 1), *zero = iso__scalar(ctx, k->base->dtype, 0),
             *one = iso__scalar(ctx, k->base->dtype, 1);
  if (k->for_base)
    *dbase = k->r->include
                 ? iso_mul(ctx, k->dy, iso__scatter_reduced(ctx, ones, src, k->index, at, ISO_COMBINE_PROD, true))
                 : untouched(k);
  if (!k->for_src) return;
  iso_tensor *is_zero = equal(k, src, zero), *base_zero = equal(k, base, zero);
  iso_tensor *filled = iso_where(ctx, is_zero, one, src);
  iso_tensor *own = k->r->include ? iso_where(ctx, base_zero, one, base) : ones;
  iso_tensor *p = pick(k, iso__scatter_reduced(ctx, own, filled, k->index, at, ISO_COMBINE_PROD, true));
  iso_tensor *n_zeros = pick(k, count(k, is_zero, base_zero));
  iso_tensor *of_rest = iso_div(ctx, p, filled);
  iso_tensor *of_single = iso_mul(ctx, iso_mul(ctx, is_zero, equal(k, n_zeros, one)), p);
  iso_tensor *others = iso_where(ctx, iso_eq(ctx, n_zeros, zero), of_rest, of_single);
  *dsrc = iso_mul(ctx, pick(k, k->dy), others);
}

void iso__scatter_reduce_gradient(iso__gradient *g) {
  const reduced *r = iso__attrs(g);
  iso_tensor *index = iso__saved(g, 0), *base = iso__saved(g, 1), *src = iso__saved(g, 2), *y = iso__saved(g, 3);
  iso_tensor *dbase = NULL, *dsrc = NULL;
  rule k = {.ctx = g->ctx,
            .r = r,
            .index = index,
            .dy = g->dy[0],
            .base = iso__input_view(g, 0),
            .src = iso__input_view(g, 1),
            .for_base = iso__needs(g, 0),
            .for_src = iso__needs(g, 1)};
  if (iso__failed(g->ctx)) return;
  switch (r->combine) {
  case ISO_COMBINE_SUM:
    if (k.for_base) dbase = untouched(&k);
    if (k.for_src) dsrc = pick(&k, k.dy);
    break;
  case ISO_COMBINE_MEAN: mean_gradient(&k, &dbase, &dsrc); break;
  case ISO_COMBINE_PROD: product_gradient(&k, base, src, &dbase, &dsrc); break;
  default: extremum_gradient(&k, base, src, y, &dbase, &dsrc); break;
  }
  g->dx[0] = dbase, g->dx[1] = dsrc;
}

/* ---- element by element ---- */

typedef enum write { SET, ADD, REDUCE } write;
typedef struct request {
  const char *op;
  write how;
  iso_combine combine;
  bool include;
} request;

static iso_tensor *apply(iso_context *ctx, const request *r, const iso_tensor *x, const iso_tensor *src,
                         const iso_tensor *index, const iso__indexing *at) {
  switch (r->how) {
  case SET: return iso__scatter_set(ctx, x, src, index, at);
  case ADD: return iso__scatter_sum(ctx, x, src, index, at);
  default: return iso__scatter_reduced(ctx, x, src, index, at, r->combine, r->include);
  }
}

/* Positions in x, row-major, that index points at: where index is smaller than x in another axis. */
static iso_tensor *positions(iso_context *ctx, const iso__view *x, const iso_tensor *index, int axis) {
  const int64_t n = iso__view_numel(&index->view), *v = iso__data(index);
  if (!iso__needs_cpu(ctx, "scatter_add", "an index that is smaller than x in other axes")) return NULL;
  iso_tensor *t = iso_tensor_new(ctx, ISO_I64, 1, &n);
  if (!t) return NULL;
  int64_t *to = iso__data(t), strides[ISO_MAX_DIMS], at[ISO_MAX_DIMS] = {0};
  iso__strides_contiguous(x->n_dims, x->shape, strides);
  for (int64_t i = 0; i < n; i++) {
    int64_t place = v[i] * strides[axis];
    for (int d = 0; d < x->n_dims; d++)
      if (d != axis) place += at[d] * strides[d];
    to[i] = place;
    for (int d = x->n_dims - 1; d >= 0 && ++at[d] == index->view.shape[d]; d--) at[d] = 0;
  }
  return t;
}

static bool check_shapes(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *index,
                         const iso_tensor *src, int axis) {
  const iso__view *vx = &x->view, *vi = &index->view, *vs = &src->view;
  bool ok = vx->n_dims == vi->n_dims && vi->n_dims == vs->n_dims;
  for (int d = 0; d < vi->n_dims && ok; d++)
    ok = vi->shape[d] <= vs->shape[d] && (d == axis || vi->shape[d] <= vx->shape[d]);
  char a[128], b[128], c[128];
  if (!ok)
    ISO__FAIL(
        ctx, ISO_SHAPE_MISMATCH, op,
        "x is %s, index %s and src %s: as many axes, and index no larger than src, nor, but along axis %d, than x",
        iso__shape_text(vx->n_dims, vx->shape, a, sizeof a), iso__shape_text(vi->n_dims, vi->shape, b, sizeof b),
        iso__shape_text(vs->n_dims, vs->shape, c, sizeof c), axis);
  return ok;
}

static iso_tensor *scatter(iso_context *ctx, const request *r, const iso_tensor *x, int axis, const iso_tensor *index,
                           const iso_tensor *src) {
  if (!iso__takes(ctx, r->op, 3, ISO__TENSORS(x, index, src)) || !iso__index_same_dtype(ctx, r->op, x, src))
    return NULL;
  iso__enter(ctx);
  iso_tensor *x1 = iso__at_least_1d(ctx, x), *i1 = iso__at_least_1d(ctx, index), *s1 = iso__at_least_1d(ctx, src);
  iso_tensor *y = NULL, *v = NULL;
  iso__indexing at = {.each = true, .padding = -1};
  if (s1 && (at.axis = iso__axis(ctx, r->op, x1, axis)) >= 0 && check_shapes(ctx, r->op, x1, i1, s1, at.axis))
    v = iso__index_read(ctx, r->op, "index", i1, x1->view.shape[at.axis], false);
  if (v) {
    bool whole = true;
    for (int d = 0; d < i1->view.n_dims && s1; d++) {
      if (s1->view.shape[d] != i1->view.shape[d]) s1 = iso_slice(ctx, s1, d, 0, i1->view.shape[d], 1);
      whole = whole && (d == at.axis || i1->view.shape[d] == x1->view.shape[d]);
    }
    at.extent = x1->view.shape[at.axis];
    if (whole) y = apply(ctx, r, x1, s1, v, &at);
    else {
      v = positions(ctx, &x1->view, v, at.axis);
      at = (iso__indexing){.extent = iso__view_numel(&x1->view), .padding = -1};
      iso_tensor *flat_x = iso_reshape(ctx, x1, 1, ISO_DIMS(-1)), *flat_s = iso_reshape(ctx, s1, 1, ISO_DIMS(-1));
      y = apply(ctx, r, flat_x, flat_s, v, &at);
      y = y ? iso_reshape(ctx, y, x1->view.n_dims, x1->view.shape) : NULL;
    }
  }
  return iso__leave(ctx, iso__like_0d(ctx, x, y));
}

iso_tensor *iso_scatter(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                        const iso_tensor *src) {
  return scatter(ctx, &(request){.op = "scatter", .how = SET}, x, axis, index, src);
}
iso_tensor *iso_scatter_value(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index, double value) {
  if (!iso__takes(ctx, "scatter_value", 2, ISO__TENSORS(x, index))) return NULL;
  iso_tensor *src = iso_tensor_full(ctx, x->view.dtype, index->view.n_dims, index->view.shape, value);
  return iso__drop(scatter(ctx, &(request){.op = "scatter_value", .how = SET}, x, axis, index, src), src);
}
/* Sums of bool are nobody's. */
static bool adds(iso_context *ctx, const char *op, const iso_tensor *x, bool halves) {
  const iso_dtype dtype = x->view.dtype;
  if (dtype != ISO_BOOL && (halves || !iso__is_half(dtype))) return true;
  ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "%s is not computed here", iso_dtype_name(dtype));
  return false;
}
static bool check_combine(iso_context *ctx, const char *op, const iso_tensor *x, iso_combine combine) {
  if ((unsigned)combine > ISO_COMBINE_AMIN) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "combine %d is not known", (int)combine);
    return false;
  }
  if (combine == ISO_COMBINE_MEAN && !iso_dtype_is_float(x->view.dtype)) {
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "means of %s are not computed: floats are", iso_dtype_name(x->view.dtype));
    return false;
  }
  return adds(ctx, op, x, false);
}
iso_tensor *iso_scatter_add(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                            const iso_tensor *src) {
  if (!iso__takes(ctx, "scatter_add", 1, &x) || !adds(ctx, "scatter_add", x, true)) return NULL;
  return scatter(ctx, &(request){.op = "scatter_add", .how = ADD}, x, axis, index, src);
}
iso_tensor *iso_scatter_reduce(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                               const iso_tensor *src, iso_combine combine, bool include_x) {
  const request r = {.op = "scatter_reduce", .how = REDUCE, .combine = combine, .include = include_x};
  if (!iso__takes(ctx, r.op, 1, &x) || !check_combine(ctx, r.op, x, combine)) return NULL;
  return scatter(ctx, &r, x, axis, index, src);
}

/* ---- whole slices ---- */

static bool check_slices(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *index,
                         const iso_tensor *src, int axis) {
  const iso__view *vx = &x->view, *vs = &src->view;
  bool ok = index->view.n_dims <= 1 && vx->n_dims == vs->n_dims;
  for (int d = 0; d < vx->n_dims && ok; d++)
    ok = vs->shape[d] == (d == axis ? iso__view_numel(&index->view) : vx->shape[d]);
  char a[128], b[128], c[128];
  if (!ok)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op,
              "x is %s, index %s and src %s: index (n), and src like x with n along axis %d",
              iso__shape_text(vx->n_dims, vx->shape, a, sizeof a),
              iso__shape_text(index->view.n_dims, index->view.shape, b, sizeof b),
              iso__shape_text(vs->n_dims, vs->shape, c, sizeof c), axis);
  return ok;
}

static iso_tensor *slices(iso_context *ctx, const request *r, const iso_tensor *x, int axis, const iso_tensor *index,
                          const iso_tensor *src) {
  if (!iso__takes(ctx, r->op, 3, ISO__TENSORS(x, index, src)) || !iso__index_same_dtype(ctx, r->op, x, src))
    return NULL;
  iso__enter(ctx);
  iso_tensor *x1 = iso__at_least_1d(ctx, x), *s1 = iso__at_least_1d(ctx, src), *y = NULL;
  iso__indexing at = {.padding = -1};
  if (x1 && s1 && (at.axis = iso__axis(ctx, r->op, x1, axis)) >= 0) {
    /* One slice may come without its axis. */
    if (index->view.n_dims == 0 && s1->view.n_dims == x1->view.n_dims - 1) s1 = iso_unsqueeze(ctx, s1, at.axis);
    at.extent = x1->view.shape[at.axis];
    if (s1 && check_slices(ctx, r->op, x1, index, s1, at.axis))
      y = apply(ctx, r, x1, s1, iso__index_read(ctx, r->op, "index", index, at.extent, false), &at);
  }
  return iso__leave(ctx, iso__like_0d(ctx, x, y));
}

iso_tensor *iso_index_copy(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                           const iso_tensor *src) {
  return slices(ctx, &(request){.op = "index_copy", .how = SET}, x, axis, index, src);
}
iso_tensor *iso_index_add(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                          const iso_tensor *src, double alpha) {
  const request r = {.op = "index_add", .how = ADD};
  if (!iso__takes(ctx, r.op, 3, ISO__TENSORS(x, index, src)) || !adds(ctx, r.op, x, true)) return NULL;
  if (alpha == 1) return slices(ctx, &r, x, axis, index, src);
  iso_tensor *scaled = iso_mul_scalar(ctx, src, alpha);
  return scaled ? iso__drop(slices(ctx, &r, x, axis, index, scaled), scaled) : NULL;
}
iso_tensor *iso_index_reduce(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index,
                             const iso_tensor *src, iso_combine combine, bool include_x) {
  const request r = {.op = "index_reduce", .how = REDUCE, .combine = combine, .include = include_x};
  if (!iso__takes(ctx, r.op, 1, &x) || !check_combine(ctx, r.op, x, combine)) return NULL;
  return slices(ctx, &r, x, axis, index, src);
}
iso_tensor *iso_index_fill(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *index, double value) {
  if (!iso__takes(ctx, "index_fill", 2, ISO__TENSORS(x, index))) return NULL;
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, x->view.shape, sizeof shape);
  if (x->view.n_dims) {
    const int a = iso__axis(ctx, "index_fill", x, axis);
    if (a < 0) return NULL;
    shape[a] = iso__view_numel(&index->view);
  }
  iso_tensor *src = iso_tensor_full(ctx, x->view.dtype, x->view.n_dims, shape, value);
  return iso__drop(slices(ctx, &(request){.op = "index_fill", .how = SET}, x, axis, index, src), src);
}
