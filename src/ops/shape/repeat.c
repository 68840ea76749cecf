/* repeat.c: elements and whole tensors several times: an axis of extent 1 is expanded and joined with its neighbour. */
#include "ops/ops.h"

/* A new axis of extent `count` at `at`, joined with the axis `first` (at or at − 1). */
static iso_tensor *times(iso_context *ctx, const iso_tensor *x, int at, int first, int64_t count) {
  int64_t wide[ISO_MAX_DIMS + 1], joined[ISO_MAX_DIMS];
  const int n_dims = x->view.n_dims;
  for (int d = 0; d <= n_dims; d++) wide[d] = d == at ? count : x->view.shape[d > at ? d - 1 : d];
  for (int d = 0; d < n_dims; d++) joined[d] = d == first ? wide[d] * wide[d + 1] : wide[d > first ? d + 1 : d];
  if (n_dims == ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "repeat", "at most %d dimensions can be repeated", ISO_MAX_DIMS - 1);
    return NULL;
  }
  iso_tensor *one = iso_unsqueeze(ctx, x, at), *many = one ? iso_expand(ctx, one, n_dims + 1, wide) : NULL;
  iso_release(one);
  return many ? iso__drop(iso_reshape(ctx, many, n_dims, joined), many) : NULL;
}

static bool check_count(iso_context *ctx, const char *op, const iso_tensor *x, int axis, int64_t count) {
  int64_t product;
  if (count >= 0 && !__builtin_mul_overflow(x->view.shape[axis], count, &product)) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "axis %d of extent %lld, %lld times", axis, (long long)x->view.shape[axis],
            (long long)count);
  return false;
}

iso_tensor *iso_repeat(iso_context *ctx, const iso_tensor *x, int n, const int64_t *counts) {
  if (!iso__takes(ctx, "repeat", 1, &x)) return NULL;
  const int n_dims = x->view.n_dims;
  if (n < n_dims || n > ISO_MAX_DIMS || (n > 0 && !counts)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "repeat", "%d counts for %d dimensions%s", n, n_dims,
              counts ? "" : ", and their list is NULL");
    return NULL;
  }
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < n; d++) shape[d] = d < n - n_dims ? 1 : x->view.shape[d - (n - n_dims)];
  iso_tensor *y = iso_reshape(ctx, x, n, shape);
  for (int d = n - 1; d >= 0 && y; d--) { /* inner axes first: what is repeated again is small */
    if (counts[d] == 1) continue;
    y = iso__drop(check_count(ctx, "repeat", y, d, counts[d]) ? times(ctx, y, d, d, counts[d]) : NULL, y);
  }
  return y;
}

iso_tensor *iso_repeat_interleave(iso_context *ctx, const iso_tensor *x, int axis, int64_t count) {
  if (!iso__takes(ctx, "repeat_interleave", 1, &x)) return NULL;
  const int a = iso__axis(ctx, "repeat_interleave", x, axis);
  if (a < 0 || !check_count(ctx, "repeat_interleave", x, a, count)) return NULL;
  return count == 1 ? iso_tensor_alias(ctx, x) : times(ctx, x, a + 1, a, count);
}

/* Element i's number counts[i] times, as indices; NULL with an error kept. */
static iso_tensor *repeated_places(iso_context *ctx, const iso_tensor *counts, int64_t extent) {
  iso_tensor *wide = iso_contiguous(ctx, iso_cast(ctx, counts, ISO_I64));
  if (!wide) return NULL;
  const int64_t *count = iso__data(wide), step = iso__view_numel(&wide->view) > 1;
  int64_t total = 0;
  for (int64_t i = 0; i < extent && !iso__failed(ctx); i++)
    if (count[i * step] < 0 || __builtin_add_overflow(total, count[i * step], &total) || total > INT64_C(1) << 46)
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "repeat_interleave_each", "counts[%lld] is %lld", (long long)(i * step),
                (long long)count[i * step]);
  iso_tensor *places = iso_tensor_new(ctx, ISO_I64, 1, &total);
  int64_t *out = iso__data(places);
  for (int64_t i = 0; i < extent && places; i++)
    for (int64_t j = 0; j < count[i * step]; j++) *out++ = i;
  return places;
}

iso_tensor *iso_repeat_interleave_each(iso_context *ctx, const iso_tensor *x, int axis, const iso_tensor *counts) {
  if (!iso__takes(ctx, "repeat_interleave_each", 2, ISO__TENSORS(x, counts))) return NULL;
  const int a = iso__axis(ctx, "repeat_interleave_each", x, axis);
  if (a < 0) return NULL;
  const int64_t extent = x->view.shape[a], n = iso__view_numel(&counts->view);
  if (counts->view.n_dims > 1 || (n != extent && n != 1) || iso_dtype_is_float(counts->view.dtype)) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "repeat_interleave_each", "counts are %s %s where integers (%lld) are needed",
              iso_dtype_name(counts->view.dtype),
              iso__shape_text(counts->view.n_dims, counts->view.shape, text, sizeof text), (long long)extent);
    return NULL;
  }
  iso__enter(ctx);
  iso_tensor *places = repeated_places(ctx, counts, extent);
  return iso__leave(ctx, places ? iso_index_select(ctx, x, a, places) : NULL);
}
