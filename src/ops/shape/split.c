/* split.c: a tensor's parts along an axis, each a view. */
#include "ops/ops.h"

static iso_status give_up(iso_context *ctx, int n, iso_tensor **parts) {
  for (int i = 0; i < n; i++) {
    iso_release(parts[i]);
    parts[i] = NULL;
  }
  return ctx->error.code;
}

/* Whether there is something to split and room for the parts; parts are NULL then. */
static bool takes(iso_context *ctx, const char *op, const iso_tensor *x, int axis, int n, iso_tensor **parts, int *a) {
  for (int i = 0; i < n && parts; i++) parts[i] = NULL;
  if (!iso__takes(ctx, op, 1, &x) || (*a = iso__axis(ctx, op, x, axis)) < 0) return false;
  if (n >= 1 && parts) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%d parts%s", n, parts ? "" : ", and their list is NULL");
  return false;
}

/* The bounds 0 = at[0] ≤ … ≤ at[n] are made by `bound`. */
static iso_status cut(iso_context *ctx, const iso_tensor *x, int axis, int n, int64_t (*bound)(const void *arg, int i),
                      const void *arg, iso_tensor **parts) {
  for (int i = 0; i < n; i++)
    if (!(parts[i] = iso_slice(ctx, x, axis, bound(arg, i), bound(arg, i + 1), 1))) return give_up(ctx, n, parts);
  return ISO_OK;
}

typedef struct even {
  int64_t extent, n, size;
} even;
static int64_t even_bound(const void *arg, int i) {
  const even *e = arg;
  const int64_t longer = e->extent % e->n, at = i;
  return at * (e->extent / e->n) + (at < longer ? at : longer);
}
static int64_t chunk_bound(const void *arg, int i) {
  const even *e = arg;
  const int64_t at = e->size * i;
  return at < e->extent ? at : e->extent;
}

iso_status iso_split_sizes(iso_context *ctx, const iso_tensor *x, int axis, int n, const int64_t *sizes,
                           iso_tensor **parts) {
  int a;
  if (!takes(ctx, "split_sizes", x, axis, n, parts, &a)) return iso__refusal(ctx);
  int64_t sum = 0;
  bool fits = sizes != NULL;
  for (int i = 0; i < n && fits; i++) fits = sizes[i] >= 0 && !__builtin_add_overflow(sum, sizes[i], &sum);
  if (!fits || sum != x->view.shape[a])
    return ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "split_sizes",
                     "%d sizes that add up to %lld do not fill axis %d of extent %lld", n, (long long)sum, axis,
                     (long long)x->view.shape[a]);
  int64_t at = 0;
  for (int i = 0; i < n; at += sizes[i], i++)
    if (!(parts[i] = iso_slice(ctx, x, a, at, at + sizes[i], 1))) return give_up(ctx, n, parts);
  return ISO_OK;
}

iso_status iso_split_evenly(iso_context *ctx, const iso_tensor *x, int axis, int n, iso_tensor **parts) {
  int a;
  if (!takes(ctx, "split_evenly", x, axis, n, parts, &a)) return iso__refusal(ctx);
  return cut(ctx, x, a, n, even_bound, &(even){.extent = x->view.shape[a], .n = n}, parts);
}

iso_status iso_chunk(iso_context *ctx, const iso_tensor *x, int axis, int n, iso_tensor **parts, int *n_parts) {
  int a;
  if (n_parts) *n_parts = 0;
  if (!takes(ctx, "chunk", x, axis, n, parts, &a)) return iso__refusal(ctx);
  const int64_t extent = x->view.shape[a], size = extent > n ? (extent + n - 1) / n : 1;
  const int64_t n_chunks = extent > 0 ? (extent + size - 1) / size : n;
  if (n_parts) *n_parts = (int)n_chunks;
  return cut(ctx, x, a, (int)n_chunks, chunk_bound, &(even){.extent = extent, .size = size}, parts);
}

iso_status iso_unbind(iso_context *ctx, const iso_tensor *x, int axis, int n, iso_tensor **parts) {
  int a;
  if (!takes(ctx, "unbind", x, axis, n, parts, &a)) return iso__refusal(ctx);
  if (n != x->view.shape[a])
    return ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "unbind", "%d parts of axis %d, whose extent is %lld", n, axis,
                     (long long)x->view.shape[a]);
  for (int i = 0; i < n; i++)
    if (!(parts[i] = iso_select(ctx, x, a, i))) return give_up(ctx, n, parts);
  return ISO_OK;
}
