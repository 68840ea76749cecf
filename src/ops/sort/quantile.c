/* quantile.c: quantiles: two picks from the sorted rows and, between them, a + w·(b − a), recorded as such. */
#include <math.h>
#include "base/pool.h"
#include "ops/sort/sort.h"

enum { MAX_Q = 256 }; /* equal picks of one call are added in the order `ordered` up to here; more: several calls */

typedef struct places {
  const double *q;
  int n_q;
  iso_quantile_rule rule;
  bool skip_nan;
  iso_dtype dtype;
  int64_t n;
  const char *sorted;
  int64_t *below, *above;
  char *weight;
} places;

/* One rank: q·(n−1) in the dtype; NaNs, which are last, are not counted, or win. */
static double rank_of(const places *p, double q, int64_t n_valid) {
  if (!p->skip_nan && n_valid < p->n) return (double)(p->n - 1);
  if (n_valid == 0) return 0;
  if (p->dtype == ISO_F32) return (double)((float)q * (float)(n_valid - 1));
  return q * (double)(n_valid - 1);
}

static void place_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const places *p = arg;
  (void)thread;
  for (int64_t r = begin; r < end; r++) {
    const char *row = p->sorted + (size_t)(r * p->n) * iso_dtype_size(p->dtype);
    const int64_t nan = iso__first_nan(row, p->dtype, p->n);
    for (int i = 0; i < p->n_q; i++) {
      double rank = rank_of(p, p->q[i], nan < 0 ? p->n : nan);
      if (p->rule == ISO_QUANTILE_NEAREST) rank = rint(rank);
      if (p->rule == ISO_QUANTILE_HIGHER) rank = ceil(rank);
      const double low = floor(rank), w = p->rule == ISO_QUANTILE_MIDPOINT ? 0.5 : rank - low;
      const int64_t at = r * p->n_q + i, last = p->n - 1; /* a rank may round up to n */
      p->below[at] = low < (double)last ? (int64_t)low : last;
      p->above[at] = p->rule == ISO_QUANTILE_LOWER ? p->below[at]
                     : ceil(rank) < (double)last   ? (int64_t)ceil(rank)
                                                   : last;
      if (p->dtype == ISO_F64) ((double *)(void *)p->weight)[at] = w;
      else ((float *)(void *)p->weight)[at] = (float)w;
    }
  }
}

/* (…,n_q) between the picks. In the caller's scope, as are the two below. */
static iso_tensor *between(iso_context *ctx, const places *p, const iso_tensor *sorted, const iso_tensor *below,
                           const iso_tensor *above, const iso_tensor *weight) {
  iso_tensor *a = iso__pick(ctx, sorted, below);
  if (p->rule != ISO_QUANTILE_LINEAR && p->rule != ISO_QUANTILE_MIDPOINT) return a;
  iso_tensor *b = iso__pick(ctx, sorted, above);
  /* At a whole rank both are the same element, and inf − inf would be no number. */
  iso_tensor *apart = iso_ne(ctx, below, above), *zero = iso__scalar(ctx, sorted->view.dtype, 0);
  iso_tensor *gap = iso_where(ctx, apart, iso_sub(ctx, b, a), zero);
  return iso_add(ctx, a, iso_mul(ctx, weight, gap));
}

/* (…,n_q) with the axis' rest last → (n_q, …). */
static iso_tensor *arrange(iso_context *ctx, const iso__rows *rows, iso_tensor *y, bool keep_dim) {
  if (!y) return NULL;
  int order[ISO_MAX_DIMS], n = 0;
  const int last = y->view.n_dims - 1;
  if (rows->scalar) return iso_reshape(ctx, y, 1, &y->view.shape[0]);
  order[n++] = last;
  for (int d = 0; d <= last; d++) /* rows has its axis and the last one exchanged */
    if (d != rows->axis) order[n++] = d == last ? rows->axis : d;
  y = iso_contiguous(ctx, iso_permute(ctx, y, order));
  return keep_dim ? iso_unsqueeze(ctx, y, rows->axis + 1) : y;
}

static bool check(iso_context *ctx, const char *op, const iso_tensor *x, int n_q, const double *q) {
  if (!iso__takes_floats(ctx, op, 1, &x)) return false;
  if (n_q < 1 || !q)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%d quantiles%s", n_q, q ? "" : ", and their list is NULL");
  else if (x->view.n_dims == ISO_MAX_DIMS)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "x has %d dimensions: the result would have one more", ISO_MAX_DIMS);
  for (int i = 0; !iso__failed(ctx) && i < n_q; i++)
    if (!(q[i] >= 0 && q[i] <= 1))
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "q[%d] is %g: 0 to 1 are possible", i, q[i]);
  return !iso__failed(ctx);
}

static iso_tensor *of_sorted(iso_context *ctx, const iso__rows *rows, const iso_tensor *sorted, places p) {
  iso_tensor *below = iso__rows_new(ctx, sorted, ISO_I64, p.n_q), *above = iso__rows_new(ctx, sorted, ISO_I64, p.n_q);
  iso_tensor *weight = iso__rows_new(ctx, sorted, sorted->view.dtype, p.n_q);
  if (iso__failed(ctx)) return NULL;
  p.dtype = sorted->view.dtype, p.n = rows->n;
  p.sorted = iso__data(sorted);
  p.below = iso__data(below), p.above = iso__data(above), p.weight = iso__data(weight);
  iso__parallel_range(ctx, rows->rows, 1 + 8192 / (rows->n + p.n_q), 1, place_rows, &p);
  return between(ctx, &p, sorted, below, above, weight);
}

static iso_tensor *in_parts(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, const places *p);

static iso_tensor *quantile(iso_context *ctx, const char *op, const iso_tensor *x, int axis, bool keep_dim,
                            const places *p) {
  iso__rows rows;
  if (!check(ctx, op, x, p->n_q, p->q)) return NULL;
  if (p->n_q > MAX_Q) return in_parts(ctx, x, axis, keep_dim, p);
  iso__enter(ctx);
  if (!iso__rows_take(ctx, op, x, axis, &rows)) return iso__leave(ctx, NULL);
  if (rows.n == 0) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "axis %d has no elements", axis);
    return iso__leave(ctx, NULL);
  }
  iso_tensor *index, *sorted = iso__sort_window(ctx, &rows, 0, rows.n, false, &index);
  return iso__leave(ctx, sorted ? arrange(ctx, &rows, of_sorted(ctx, &rows, sorted, *p), keep_dim) : NULL);
}

static iso_tensor *in_parts(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, const places *p) {
  iso_tensor *y = NULL;
  iso__enter(ctx);
  for (int at = 0; at < p->n_q && !iso__failed(ctx); at += MAX_Q) {
    places part = *p;
    part.q = p->q + at;
    part.n_q = p->n_q - at < MAX_Q ? p->n_q - at : MAX_Q;
    iso_tensor *next = quantile(ctx, p->skip_nan ? "nanquantile" : "quantile", x, axis, keep_dim, &part);
    y = y && next ? iso_cat(ctx, 2, ISO__TENSORS(y, next), 0) : next;
  }
  return iso__leave(ctx, iso__failed(ctx) ? NULL : y);
}

iso_tensor *iso_quantile(iso_context *ctx, const iso_tensor *x, int n_q, const double *q, int axis, bool keep_dim,
                         iso_quantile_rule rule) {
  return quantile(ctx, "quantile", x, axis, keep_dim, &(places){.q = q, .n_q = n_q, .rule = rule});
}
iso_tensor *iso_nanquantile(iso_context *ctx, const iso_tensor *x, int n_q, const double *q, int axis, bool keep_dim,
                            iso_quantile_rule rule) {
  return quantile(ctx, "nanquantile", x, axis, keep_dim, &(places){.q = q, .n_q = n_q, .rule = rule, .skip_nan = true});
}
