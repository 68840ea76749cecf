/* mask.c: masked_select, masked_scatter, nonzero: a mask's positions, then a gather or a scatter. */
#include "kernels/sizes.h"
#include "ops/index/index.h"

/* x and mask in their common shape; false with the error kept. */
static bool together(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *mask, iso_tensor **wide_x,
                     iso_tensor **wide_mask) {
  int64_t shape[ISO_MAX_DIMS];
  int n_dims;
  if (mask->view.dtype != ISO_BOOL) {
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "the mask is %s: bool is needed", iso_dtype_name(mask->view.dtype));
    return false;
  }
  if (!iso__broadcast(ctx, op, &x->view, &mask->view, &n_dims, shape)) return false;
  *wide_x = iso_expand(ctx, x, n_dims, shape);
  *wide_mask = iso_expand(ctx, mask, n_dims, shape);
  return *wide_x && *wide_mask;
}

iso_tensor *iso_masked_select(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask) {
  if (!iso__takes(ctx, "masked_select", 2, ISO__TENSORS(x, mask))) return NULL;
  iso__enter(ctx);
  iso_tensor *wide, *wide_mask, *y = NULL;
  if (together(ctx, "masked_select", x, mask, &wide, &wide_mask)) {
    iso_tensor *flat = iso_reshape(ctx, wide, 1, ISO_DIMS(iso__view_numel(&wide->view)));
    iso_tensor *chosen = iso__nonzero_positions(ctx, wide_mask);
    y = iso__gather_at(ctx, flat, chosen, &(iso__indexing){.padding = -1});
  }
  return iso__leave(ctx, y);
}

iso_tensor *iso_masked_scatter(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask, const iso_tensor *src) {
  if (!iso__takes(ctx, "masked_scatter", 3, ISO__TENSORS(x, mask, src)) ||
      !iso__index_same_dtype(ctx, "masked_scatter", x, src))
    return NULL;
  iso__enter(ctx);
  iso_tensor *wide, *wide_mask, *y = NULL;
  if (together(ctx, "masked_scatter", x, mask, &wide, &wide_mask)) {
    const int64_t n = iso__view_numel(&wide->view), n_src = iso__view_numel(&src->view);
    iso_tensor *positions = iso__nonzero_positions(ctx, wide_mask);
    const int64_t n_true = positions ? positions->view.shape[0] : 0;
    if (n_true > n_src) {
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "masked_scatter", "the mask is true in %lld places, but src has %lld elements",
                (long long)n_true, (long long)n_src);
    } else {
      iso_tensor *flat = iso_reshape(ctx, wide, 1, ISO_DIMS(n)), *all = iso_reshape(ctx, src, 1, ISO_DIMS(n_src));
      iso_tensor *from = all ? iso_slice(ctx, all, 0, 0, n_true, 1) : NULL;
      if (flat && from) y = iso__scatter_set(ctx, flat, from, positions, &(iso__indexing){.extent = n, .padding = -1});
      y = y ? iso_reshape(ctx, y, wide->view.n_dims, wide->view.shape) : NULL;
    }
  }
  return iso__leave(ctx, y);
}

iso_tensor *iso_nonzero(iso_context *ctx, const iso_tensor *x) {
  if (!iso__takes(ctx, "nonzero", 1, &x)) return NULL;
  iso_tensor *positions = iso__nonzero_positions(ctx, x);
  if (!positions) return NULL;
  const int64_t n = positions->view.shape[0], *v = iso__data(positions);
  const int n_dims = x->view.n_dims;
  iso_tensor *y = iso_tensor_new(ctx, ISO_I64, 2, ISO_DIMS(n, n_dims));
  int64_t *to = iso__data(y);
  for (int64_t i = 0; i < n && y; i++, to += n_dims) {
    int64_t rest = v[i];
    for (int d = n_dims - 1; d >= 0; d--) to[d] = rest % x->view.shape[d], rest /= x->view.shape[d];
  }
  return iso__drop(y, positions);
}
iso_tensor *iso_argwhere(iso_context *ctx, const iso_tensor *x) { return iso_nonzero(ctx, x); }
