/* axes.c: axes moved, split up and added: views by way of permute and reshape. */
#include "ops/ops.h"

iso_tensor *iso_movedim(iso_context *ctx, const iso_tensor *x, int n, const int *from, const int *to) {
  if (!iso__takes(ctx, "movedim", 1, &x)) return NULL;
  const int n_dims = x->view.n_dims;
  if (n < 0 || n > n_dims || (n > 0 && !(from && to))) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "movedim", "%d axes of %d%s", n, n_dims,
              from && to ? "" : ", and a list is NULL");
    return NULL;
  }
  int order[ISO_MAX_DIMS];
  bool moved[ISO_MAX_DIMS] = {false};
  for (int d = 0; d < n_dims; d++) order[d] = -1;
  for (int i = 0; i < n; i++) {
    const int a = iso__axis(ctx, "movedim", x, from[i]), b = iso__axis(ctx, "movedim", x, to[i]);
    if (a < 0 || b < 0) return NULL;
    if (moved[a] || order[b] >= 0) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "movedim", "axis %d is named twice", moved[a] ? from[i] : to[i]);
      return NULL;
    }
    moved[a] = true;
    order[b] = a;
  }
  for (int d = 0, next = 0; d < n_dims; d++) {
    if (order[d] >= 0) continue;
    while (moved[next]) next++;
    order[d] = next++;
  }
  return iso_permute(ctx, x, order);
}

iso_tensor *iso_unflatten(iso_context *ctx, const iso_tensor *x, int axis, int n, const int64_t *shape) {
  if (!iso__takes(ctx, "unflatten", 1, &x)) return NULL;
  const int a = iso__axis(ctx, "unflatten", x, axis), n_dims = x->view.n_dims - 1 + n;
  if (a < 0) return NULL;
  if (n < 1 || n > ISO_MAX_DIMS || n_dims > ISO_MAX_DIMS || !shape) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "unflatten", "an axis of %d dimensions cannot become %d%s", x->view.n_dims, n,
              shape ? "" : ", and the list is NULL");
    return NULL;
  }
  int64_t full[ISO_MAX_DIMS], known = 1;
  memcpy(full, x->view.shape, sizeof full[0] * (size_t)a);
  memcpy(full + a, shape, sizeof full[0] * (size_t)n);
  memcpy(full + a + n, x->view.shape + a + 1, sizeof full[0] * (size_t)(x->view.n_dims - 1 - a));
  bool fits = true;
  int open = -1;
  for (int i = 0; i < n && fits; i++) {
    if (shape[i] == -1 && open < 0) open = a + i;
    else fits = shape[i] >= 0 && !__builtin_mul_overflow(known, shape[i], &known);
  }
  const int64_t extent = x->view.shape[a];
  if (fits && open >= 0 && (fits = known > 0 && extent % known == 0)) full[open] = extent / known;
  if (!fits || (open < 0 && known != extent)) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "unflatten", "axis %d of extent %lld cannot become %s", axis, (long long)extent,
              iso__shape_text(n, shape, text, sizeof text));
    return NULL;
  }
  return iso_reshape(ctx, x, n_dims, full);
}

iso_tensor *iso_atleast(iso_context *ctx, const iso_tensor *x, int n_dims) {
  if (!iso__takes(ctx, "atleast", 1, &x)) return NULL;
  if (n_dims < 0 || n_dims > ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "atleast", "%d dimensions; 0 to %d are possible", n_dims, ISO_MAX_DIMS);
    return NULL;
  }
  const int has = x->view.n_dims, behind = n_dims == 3 && has > 0 && has < 3, before = n_dims - has - behind;
  if (has >= n_dims) return iso_tensor_alias(ctx, x);
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < n_dims; d++) shape[d] = d < before || d >= before + has ? 1 : x->view.shape[d - before];
  return iso_reshape(ctx, x, n_dims, shape);
}
