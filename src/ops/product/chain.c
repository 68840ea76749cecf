/* chain.c: multi_dot: a chain of matrices in the association that needs the fewest multiplications (Godbole: "On
 * efficient computation of matrix chain products", 1973): a function of the shapes alone, of equals the one that splits
 * first, so the bits are too. */
#include <math.h>
#include "ops/ops.h"

enum { MAX_CHAIN = 256 };

/* The matrices and, for every part of the chain, where it is split last: split[i·n + j]. */
typedef struct chain {
  iso_context *ctx;
  const iso_tensor *const *t;
  int n;
  int *split;
} chain;

/* rows[i], rows[i+1]: extents of matrix i. In doubles: a product of extents may exceed i64, and they are exact far
 * beyond what memory holds. */
static void plan(chain *c, const int64_t *rows, double *cost) {
  const int n = c->n;
  for (int i = 0; i < n; i++) cost[i * n + i] = 0;
  for (int length = 2; length <= n; length++)
    for (int i = 0; i + length <= n; i++) {
      const int j = i + length - 1;
      cost[i * n + j] = INFINITY;
      for (int s = i; s < j; s++) {
        const double outer = (double)rows[i] * (double)rows[s + 1] * (double)rows[j + 1];
        const double sum = cost[i * n + s] + cost[(s + 1) * n + j] + outer;
        if (sum < cost[i * n + j]) cost[i * n + j] = sum, c->split[i * n + j] = s;
      }
    }
}

/* The product of matrices i … j; a handle of its own unless i = j. */
static iso_tensor *multiply(const chain *c, int i, int j) {
  const int s = c->split[i * c->n + j];
  iso_tensor *left = i < s ? multiply(c, i, s) : NULL, *right = s + 1 < j ? multiply(c, s + 1, j) : NULL;
  iso_tensor *y = iso_matmul(c->ctx, i < s ? left : c->t[i], s + 1 < j ? right : c->t[j]);
  iso_release(left);
  return iso__drop(y, right);
}

/* Extents along the chain, of vectors at its ends as a row and a column; false where they do not fit. */
static bool extents(iso_context *ctx, int n, const iso_tensor *const *t, int64_t *rows) {
  for (int i = 0; i < n; i++) {
    const iso__view *v = &t[i]->view;
    const bool end = i == 0 || i == n - 1;
    if (v->n_dims != 2 && !(v->n_dims == 1 && end)) {
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "multi_dot",
                "factor %d has %d dimensions: matrices are taken, and vectors at "
                "the ends",
                i, v->n_dims);
      return false;
    }
    const bool row = v->n_dims == 1 && i == 0;
    const int64_t first = row ? 1 : v->shape[0], last = v->n_dims == 2 ? v->shape[1] : row ? v->shape[0] : 1;
    if (i > 0 && rows[i] != first) {
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "multi_dot", "factor %d has %lld columns and factor %d %lld rows", i - 1,
                (long long)rows[i], i, (long long)first);
      return false;
    }
    rows[i] = first, rows[i + 1] = last;
  }
  return true;
}

iso_tensor *iso_multi_dot(iso_context *ctx, int n, const iso_tensor *const *factors) {
  ISO__AUTOCAST_LIST(ctx, "multi_dot", n, factors, iso_multi_dot(ctx, n, factors));
  int64_t rows[MAX_CHAIN + 1];
  if (iso__failed(ctx)) return NULL;
  if (n < 2 || n > MAX_CHAIN || !factors) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "multi_dot", "%d factors: 2 to %d are taken", factors ? n : 0, MAX_CHAIN);
    return NULL;
  }
  if (!iso__takes(ctx, "multi_dot", n, factors) || !iso__takes_dtypes(ctx, "multi_dot", ISO__REAL_DTYPES, n, factors) ||
      !extents(ctx, n, factors, rows))
    return NULL;
  const size_t cells = (size_t)n * (size_t)n, n_bytes = cells * (sizeof(double) + sizeof(int));
  double *cost = iso__alloc(ctx, n_bytes);
  if (!cost) return NULL;
  chain c = {.ctx = ctx, .t = factors, .n = n, .split = (int *)(cost + cells)};
  plan(&c, rows, cost);
  iso_tensor *y = multiply(&c, 0, n - 1);
  iso__free(ctx, cost, n_bytes);
  return y;
}
