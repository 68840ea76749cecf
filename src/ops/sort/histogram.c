/* histogram.c: how often values lie between edges, along one axis or several: every value has a bin along each axis,
 * the bins make one number, and numbers are counted, or their weights added in the order of the values. */
#include "base/pool.h"
#include "ops/sort/sort.h"

/* Insertion points behind equals become bins, and number = number·bins + bin; −1: outside. */
typedef struct binning {
  const void *x, *edges;
  iso_dtype dtype;
  int64_t bins;
  const int64_t *behind;
  int64_t *number;
} binning;

static void number_range(void *arg, int64_t begin, int64_t end, int thread) {
  const binning *b = arg;
  const double last = iso__real_at(b->edges, b->dtype, b->bins);
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const double x = iso__real_at(b->x, b->dtype, i);
    const int64_t bin = x == last ? b->bins - 1 : x < last ? b->behind[i] - 1 : -1;
    b->number[i] = bin < 0 || b->number[i] < 0 ? -1 : b->number[i] * b->bins + bin;
  }
}

/* One more axis: x (n) contiguous, edges (bins + 1) contiguous. */
static bool add_axis(iso_context *ctx, const iso_tensor *x, const iso_tensor *edges, iso_tensor *number) {
  iso_tensor *behind = iso_searchsorted(ctx, edges, x, true, NULL);
  if (!behind) return false;
  binning b = {.x = iso__data(x),
               .edges = iso__data(edges),
               .dtype = x->view.dtype,
               .bins = edges->view.shape[0] - 1,
               .behind = iso__data(behind),
               .number = iso__data(number)};
  iso__parallel_range(ctx, iso__view_numel(&x->view), 8192, 64, number_range, &b);
  return true;
}

/* counts / total / width along each axis, in operators. */
static iso_tensor *as_density(iso_context *ctx, iso_tensor *counts, int n_axes, const iso_tensor *const *edges) {
  iso_tensor *y = iso_div(ctx, counts, iso_sum_all(ctx, counts));
  for (int d = 0; d < n_axes && y; d++) {
    int64_t shape[ISO_MAX_DIMS];
    for (int a = 0; a < n_axes; a++) shape[a] = a == d ? edges[d]->view.shape[0] - 1 : 1;
    iso_tensor *below = iso_slice(ctx, edges[d], 0, 0, -1, 1), *above = iso_slice(ctx, edges[d], 0, 1, INT64_MAX, 1);
    y = iso_div(ctx, y, iso_reshape(ctx, iso_sub(ctx, above, below), n_axes, shape));
  }
  return y;
}

/* How often each number below `bins` is there, in x's dtype. */
static iso_tensor *counted(iso_context *ctx, const iso_tensor *number, int64_t bins, iso_dtype dtype) {
  iso_tensor *counts = iso__count(ctx, number, bins);
  return counts ? iso_cast(ctx, counts, dtype) : NULL;
}
/* Or the weights of those that have it: what lies outside goes to a bin of its own, which is cut off. */
static iso_tensor *weighed(iso_context *ctx, iso_tensor *number, int64_t bins, const iso_tensor *weight) {
  int64_t *to = iso__data(number);
  const int64_t n = iso__view_numel(&number->view);
  for (int64_t i = 0; i < n; i++) to[i] = to[i] < 0 ? bins : to[i];
  iso_tensor *flat = iso_reshape(ctx, weight, 1, (const int64_t[]){-1});
  return iso_slice(ctx, iso_bincount_weighted(ctx, number, flat, bins + 1), 0, 0, bins, 1);
}

static bool check_edges(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes,
                        const iso_tensor *const *edges, int64_t *bins) {
  *bins = 1;
  for (int d = 0; d < n_axes; d++) {
    if (!iso__takes(ctx, op, 1, &edges[d]) || !iso__takes_floats(ctx, op, 2, ISO__TENSORS(x, edges[d]))) return false;
    char text[128];
    if (edges[d]->view.n_dims != 1 || edges[d]->view.shape[0] < 2)
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "edges of axis %d are %s: (bins + 1) are needed", d,
                iso__shape_text(edges[d]->view.n_dims, edges[d]->view.shape, text, sizeof text));
    else if (__builtin_mul_overflow(*bins, edges[d]->view.shape[0] - 1, bins) || *bins >> 40)
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the axes have too many bins together");
    if (iso__failed(ctx)) return false;
  }
  return true;
}

/* x (n,n_axes), weight (n) or NULL. In the caller's scope. */
static iso_tensor *histogram(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes,
                             const iso_tensor *const *edges, const iso_tensor *weight, bool density) {
  int64_t bins, shape[ISO_MAX_DIMS];
  if (!check_edges(ctx, op, x, n_axes, edges, &bins)) return NULL;
  if (weight &&
      (!iso__takes_floats(ctx, op, 2, ISO__TENSORS(x, weight)) || iso__view_numel(&weight->view) != x->view.shape[0])) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "%lld weights for %lld values", (long long)iso__view_numel(&weight->view),
              (long long)x->view.shape[0]);
    return NULL;
  }
  iso_tensor *number = iso_tensor_zeros(ctx, ISO_I64, 1, x->view.shape), *y = NULL;
  for (int d = 0; d < n_axes && number; d++) {
    iso_tensor *column = iso_select(ctx, x, 1, d), *dense = column ? iso_contiguous(ctx, column) : NULL;
    iso_tensor *border = iso_contiguous(ctx, edges[d]);
    if (!dense || !border || !add_axis(ctx, dense, border, number)) return NULL;
    shape[d] = edges[d]->view.shape[0] - 1;
  }
  if (number) y = weight ? weighed(ctx, number, bins, weight) : counted(ctx, number, bins, x->view.dtype);
  y = iso_reshape(ctx, y, n_axes, shape);
  return y && density ? as_density(ctx, y, n_axes, edges) : y;
}

iso_tensor *iso_histogram(iso_context *ctx, const iso_tensor *x, const iso_tensor *edges, const iso_tensor *weight,
                          bool density) {
  if (!iso__takes(ctx, "histogram", 2, ISO__TENSORS(x, edges)) || (weight && !iso__takes(ctx, "histogram", 1, &weight)))
    return NULL;
  iso_no_grad_push(ctx);
  iso__enter(ctx);
  iso_tensor *column = iso_reshape(ctx, x, 2, (const int64_t[]){iso__view_numel(&x->view), 1});
  iso_tensor *y = iso__leave(ctx, column ? histogram(ctx, "histogram", column, 1, &edges, weight, density) : NULL);
  iso_no_grad_pop(ctx);
  return y;
}

iso_tensor *iso_histogramdd(iso_context *ctx, const iso_tensor *x, int n_axes, const iso_tensor *const *edges,
                            const iso_tensor *weight, bool density) {
  if (!iso__takes(ctx, "histogramdd", 1, &x) || (weight && !iso__takes(ctx, "histogramdd", 1, &weight))) return NULL;
  if (n_axes < 1 || n_axes > ISO_MAX_DIMS || !edges || x->view.n_dims != 2 || x->view.shape[1] != n_axes) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "histogramdd", "x is %s for edges of %d axes%s",
              iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text), n_axes,
              edges ? "" : ", and their list is NULL");
    return NULL;
  }
  iso_no_grad_push(ctx);
  iso__enter(ctx);
  iso_tensor *y = iso__leave(ctx, histogram(ctx, "histogramdd", x, n_axes, edges, weight, density));
  iso_no_grad_pop(ctx);
  return y;
}
