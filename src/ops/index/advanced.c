/* advanced.c: x[indices] with several index tensors: index, index_put, put.
 *
 * The indexed axes are brought together (where they are neighbours they stay, else they go first), joined to one axis
 * by a reshape, and the index tensors to one index of that axis: then it is a gather or a scatter of whole rows. */
#include <stdio.h>
#include "ops/index/index.h"

/* One request: per axis of x its index (checked, contiguous i64) or NULL, all broadcast to one shape. */
typedef struct places {
  const iso_tensor *axis[ISO_MAX_DIMS];
  int n_dims, shape_dims, first, count; /* axes of x; of the broadcast shape; first indexed axis, how many */
  int64_t shape[ISO_MAX_DIMS];
  bool neighbours;
} places;

/* Column d of nonzero: the positions' digit of extent shape[d]. */
static iso_tensor *digit(iso_context *ctx, const iso_tensor *positions, int n_dims, const int64_t *shape, int d) {
  if (!positions) return NULL;
  iso_tensor *t = iso_tensor_new(ctx, ISO_I64, 1, positions->view.shape);
  if (!t) return NULL;
  int64_t below = 1, *to = iso__data(t);
  const int64_t *v = iso__data(positions);
  for (int k = d + 1; k < n_dims; k++) below *= shape[k];
  for (int64_t i = 0; i < t->view.shape[0]; i++) to[i] = v[i] / below % shape[d];
  return t;
}

static bool is_mask(const iso_tensor *t) { return t->view.dtype == ISO_BOOL; }

/* A mask stands for its positions along as many axes as it has. */
static bool read_mask(iso_context *ctx, const char *op, int number, const iso_tensor *x, const iso_tensor *mask,
                      int axis, places *p) {
  bool fits = mask->view.n_dims > 0 && axis + mask->view.n_dims <= x->view.n_dims;
  for (int d = 0; d < mask->view.n_dims && fits; d++) fits = mask->view.shape[d] == x->view.shape[axis + d];
  char a[128], b[128];
  if (!fits) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "indices[%d] is a mask %s: at axis %d of x, which is %s", number,
              iso__shape_text(mask->view.n_dims, mask->view.shape, a, sizeof a), axis,
              iso__shape_text(x->view.n_dims, x->view.shape, b, sizeof b));
    return false;
  }
  iso_tensor *positions = iso__nonzero_positions(ctx, mask);
  for (int d = 0; d < mask->view.n_dims; d++)
    if (!(p->axis[axis + d] = digit(ctx, positions, mask->view.n_dims, mask->view.shape, d))) return false;
  return true;
}

static bool read_places(iso_context *ctx, const char *op, const iso_tensor *x, int n, const iso_tensor *const *indices,
                        places *p) {
  int axis = 0;
  *p = (places){.n_dims = x->view.n_dims, .first = -1};
  for (int i = 0; i < n; i++) {
    const iso_tensor *t = indices[i];
    const int wide = t && is_mask(t) ? t->view.n_dims : 1;
    if (axis + wide > x->view.n_dims) {
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "indices for more axes than the %d of x", x->view.n_dims);
      return false;
    }
    if (t && is_mask(t)) {
      if (!read_mask(ctx, op, i, x, t, axis, p)) return false;
    } else if (t) {
      char name[24];
      snprintf(name, sizeof name, "indices[%d]", i);
      if (!(p->axis[axis] = iso__index_read(ctx, op, name, t, x->view.shape[axis], true))) return false;
    }
    axis += wide;
  }
  iso__view form = {0};
  int last = -1;
  for (int d = 0; d < p->n_dims; d++) {
    if (!p->axis[d]) continue;
    if (p->first < 0) p->first = d, p->neighbours = true, form = p->axis[d]->view;
    else if (last != d - 1) p->neighbours = false;
    last = d;
    p->count++;
    int64_t shape[ISO_MAX_DIMS];
    int n_dims;
    if (!iso__broadcast(ctx, op, &form, &p->axis[d]->view, &n_dims, shape)) return false;
    form.n_dims = n_dims;
    memcpy(form.shape, shape, sizeof shape);
  }
  p->shape_dims = form.n_dims;
  memcpy(p->shape, form.shape, sizeof form.shape);
  if (p->count == 0) return true;
  if (p->n_dims - p->count + p->shape_dims <= ISO_MAX_DIMS) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "the result would have more than %d axes", ISO_MAX_DIMS);
  return false;
}

/* The axes of x with the indexed ones together; the first of them stands at place *at. */
static void axis_order(const places *p, int *order, int *at) {
  int n = 0;
  *at = p->neighbours ? p->first : 0;
  for (int d = 0; d < *at; d++) order[n++] = d;
  for (int d = 0; d < p->n_dims; d++)
    if (p->axis[d]) order[n++] = d;
  for (int d = *at; d < p->n_dims; d++)
    if (!p->axis[d]) order[n++] = d;
}

/* x (before, indexed axes joined, after). */
static iso_tensor *joined(iso_context *ctx, const iso_tensor *x, const places *p) {
  int order[ISO_MAX_DIMS], at, n = 0;
  int64_t shape[ISO_MAX_DIMS];
  axis_order(p, order, &at);
  iso_tensor *turned = p->neighbours ? iso_tensor_alias(ctx, x) : iso_permute(ctx, x, order);
  if (!turned) return NULL;
  for (int d = 0; d < p->n_dims; d++)
    if (d > at && d < at + p->count) shape[n - 1] *= turned->view.shape[d];
    else shape[n++] = turned->view.shape[d];
  return iso_reshape(ctx, turned, n, shape);
}

/* The joined axis' index: (numel of the broadcast shape). */
static iso_tensor *joined_index(iso_context *ctx, const iso_tensor *x, const places *p) {
  int64_t n = 1;
  for (int d = 0; d < p->shape_dims; d++) n *= p->shape[d];
  iso_tensor *sum = iso_tensor_new(ctx, ISO_I64, 1, &n);
  bool first = true;
  for (int d = 0; d < p->n_dims && sum; d++) {
    if (!p->axis[d]) continue;
    iso_tensor *wide = iso_expand(ctx, p->axis[d], p->shape_dims, p->shape);
    iso_tensor *dense = wide ? iso_contiguous(ctx, wide) : NULL;
    if (!dense) return NULL;
    const int64_t *v = iso__data(dense), extent = x->view.shape[d];
    int64_t *to = iso__data(sum);
    for (int64_t i = 0; i < n; i++) to[i] = first ? v[i] : to[i] * extent + v[i];
    first = false;
  }
  return sum;
}

/* The result's shape: the broadcast shape in the place of the indexed axes. */
static int result_shape(const iso_tensor *x, const places *p, int64_t *shape) {
  int order[ISO_MAX_DIMS], at, n = 0;
  axis_order(p, order, &at);
  for (int d = 0; d < at; d++) shape[n++] = x->view.shape[order[d]];
  for (int d = 0; d < p->shape_dims; d++) shape[n++] = p->shape[d];
  for (int d = at + p->count; d < p->n_dims; d++) shape[n++] = x->view.shape[order[d]];
  return n;
}

static bool list_is_good(iso_context *ctx, const char *op, int n, const iso_tensor *const *indices) {
  if (iso__failed(ctx)) return false;
  if (n < 0 || n > ISO_MAX_DIMS || (n > 0 && !indices)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%d indices%s; 0 to %d are possible", n,
              indices ? "" : ", their list NULL", ISO_MAX_DIMS);
    return false;
  }
  for (int i = 0; i < n; i++)
    if (indices[i] && !iso__takes(ctx, op, 1, &indices[i])) return false;
  return true;
}

iso_tensor *iso_index(iso_context *ctx, const iso_tensor *x, int n_indices, const iso_tensor *const *indices) {
  places p;
  if (!iso__takes(ctx, "index", 1, &x) || !list_is_good(ctx, "index", n_indices, indices)) return NULL;
  iso__enter(ctx);
  iso_tensor *y = NULL;
  if (read_places(ctx, "index", x, n_indices, indices, &p)) {
    int64_t shape[ISO_MAX_DIMS];
    const iso__indexing at = {.axis = p.neighbours ? p.first : 0, .padding = -1};
    if (p.count == 0) y = iso_contiguous(ctx, x);
    else {
      iso_tensor *from = joined(ctx, x, &p), *index = joined_index(ctx, x, &p);
      y = iso__gather_at(ctx, from, index, &at);
    }
    if (y && p.count) y = iso_reshape(ctx, y, result_shape(x, &p, shape), shape);
  }
  return iso__leave(ctx, y);
}

/* ---- index_put ---- */

static iso_tensor *put(iso_context *ctx, const iso_tensor *x, const iso_tensor *src, const iso_tensor *index,
                       const iso__indexing *at, bool accumulate) {
  return accumulate ? iso__scatter_sum(ctx, x, src, index, at) : iso__scatter_set(ctx, x, src, index, at);
}

/* values as (before, n, after). */
static iso_tensor *spread(iso_context *ctx, const iso_tensor *x, const iso_tensor *values, const places *p) {
  int64_t shape[ISO_MAX_DIMS], rows[ISO_MAX_DIMS];
  const int n_dims = result_shape(x, p, shape), at = p->neighbours ? p->first : 0;
  /* Leading extents of 1 that the result does not have are dropped. */
  iso_tensor *v = iso_tensor_alias(ctx, values);
  while (v && v->view.n_dims > n_dims && v->view.shape[0] == 1) v = iso_squeeze(ctx, v, 0);
  v = v ? iso_expand(ctx, v, n_dims, shape) : NULL;
  int n = 0;
  for (int d = 0; d < at; d++) rows[n++] = shape[d];
  rows[n] = 1;
  for (int d = at; d < at + p->shape_dims; d++) rows[n] *= shape[d];
  n++;
  for (int d = at + p->shape_dims; d < n_dims; d++) rows[n++] = shape[d];
  return v ? iso_reshape(ctx, v, n, rows) : NULL;
}

/* y, whose indexed axes are joined, as x was. */
static iso_tensor *unjoined(iso_context *ctx, iso_tensor *y, const iso_tensor *x, const places *p) {
  int order[ISO_MAX_DIMS], inverse[ISO_MAX_DIMS], at;
  int64_t shape[ISO_MAX_DIMS];
  axis_order(p, order, &at);
  for (int d = 0; d < p->n_dims; d++) shape[d] = x->view.shape[order[d]], inverse[order[d]] = d;
  iso_tensor *t = y ? iso_reshape(ctx, y, p->n_dims, shape) : NULL;
  if (!t || p->neighbours) return t;
  iso_tensor *back = iso_permute(ctx, t, inverse);
  return back ? iso_contiguous(ctx, back) : NULL;
}

static bool accumulates(iso_context *ctx, const char *op, const iso_tensor *x, bool accumulate) {
  if (!accumulate || x->view.dtype != ISO_BOOL) return true;
  ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "bool is not added");
  return false;
}

iso_tensor *iso_index_put(iso_context *ctx, const iso_tensor *x, int n_indices, const iso_tensor *const *indices,
                          const iso_tensor *values, bool accumulate) {
  places p;
  if (!iso__takes(ctx, "index_put", 2, ISO__TENSORS(x, values)) ||
      !list_is_good(ctx, "index_put", n_indices, indices) || !iso__index_same_dtype(ctx, "index_put", x, values) ||
      !accumulates(ctx, "index_put", x, accumulate))
    return NULL;
  iso__enter(ctx);
  iso_tensor *y = NULL;
  if (read_places(ctx, "index_put", x, n_indices, indices, &p)) {
    if (p.count == 0) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "index_put", "no axis is indexed");
    } else {
      iso_tensor *whole = joined(ctx, x, &p), *index = joined_index(ctx, x, &p), *src = spread(ctx, x, values, &p);
      iso__indexing at = {.axis = p.neighbours ? p.first : 0, .padding = -1};
      if (whole && index && src) {
        at.extent = whole->view.shape[at.axis];
        y = unjoined(ctx, put(ctx, whole, src, index, &at, accumulate), x, &p);
      }
    }
  }
  return iso__leave(ctx, y);
}

iso_tensor *iso_put(iso_context *ctx, const iso_tensor *x, const iso_tensor *index, const iso_tensor *src,
                    bool accumulate) {
  if (!iso__takes(ctx, "put", 3, ISO__TENSORS(x, index, src)) || !iso__index_same_dtype(ctx, "put", x, src) ||
      !accumulates(ctx, "put", x, accumulate))
    return NULL;
  const int64_t n = iso__view_numel(&index->view);
  if (iso__view_numel(&src->view) != n) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "put", "index has %lld elements but src %lld", (long long)n,
              (long long)iso__view_numel(&src->view));
    return NULL;
  }
  iso__enter(ctx);
  iso__indexing at = {.extent = iso__view_numel(&x->view), .padding = -1};
  iso_tensor *v = iso__index_read(ctx, "put", "index", index, at.extent, true), *y = NULL;
  v = v ? iso_reshape(ctx, v, 1, ISO_DIMS(n)) : NULL;
  iso_tensor *flat = iso_reshape(ctx, x, 1, ISO_DIMS(at.extent)), *from = iso_reshape(ctx, src, 1, ISO_DIMS(n));
  if (v && flat && from) y = put(ctx, flat, from, v, &at, accumulate);
  return iso__leave(ctx, y ? iso_reshape(ctx, y, x->view.n_dims, x->view.shape) : NULL);
}
