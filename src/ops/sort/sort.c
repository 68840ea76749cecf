/* sort.c: sorts and their first k. */
#include "ops/sort/sort.h"

static iso_tensor *sort(iso_context *ctx, const char *op, const iso_tensor *x, int axis, bool descending,
                        iso_tensor **indices) {
  iso__rows rows;
  if (!iso__rows_take(ctx, op, x, axis, &rows)) return NULL;
  return iso__rows_window(ctx, &rows, 0, rows.n, descending, false, indices);
}

iso_tensor *iso_sort(iso_context *ctx, const iso_tensor *x, int axis, bool descending, iso_tensor **indices) {
  if (indices) *indices = NULL;
  return sort(ctx, "sort", x, axis, descending, indices);
}
iso_tensor *iso_argsort(iso_context *ctx, const iso_tensor *x, int axis, bool descending) {
  iso_tensor *indices = NULL;
  if (!ctx) return NULL;
  iso_no_grad_push(ctx);
  iso_release(sort(ctx, "argsort", x, axis, descending, &indices));
  iso_no_grad_pop(ctx);
  return indices;
}
iso_tensor *iso_msort(iso_context *ctx, const iso_tensor *x) { return sort(ctx, "msort", x, 0, false, NULL); }

iso_tensor *iso_topk(iso_context *ctx, const iso_tensor *x, int64_t k, int axis, bool largest, iso_tensor **indices) {
  iso__rows rows;
  if (indices) *indices = NULL;
  if (!iso__rows_take(ctx, "topk", x, axis, &rows)) return NULL;
  if (k >= 0 && k <= rows.n) return iso__rows_window(ctx, &rows, 0, k, largest, false, indices);
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "topk", "k is %lld: the axis has %lld elements", (long long)k,
            (long long)rows.n);
  return iso__drop(NULL, rows.x);
}
