/* count.c: one_hot and weighted bincount. */
#include "kernels/sizes.h"
#include "ops/index/index.h"

iso_tensor *iso_one_hot(iso_context *ctx, const iso_tensor *index, int64_t n_classes) {
  if (!iso__takes(ctx, "one_hot", 1, &index)) return NULL;
  const int64_t n = iso__view_numel(&index->view);
  int64_t shape[ISO_MAX_DIMS];
  if (n_classes < 0 || index->view.n_dims >= ISO_MAX_DIMS || (n_classes == 0 && n == 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "one_hot", "%lld classes for an index of %d axes and %lld elements",
              (long long)n_classes, index->view.n_dims, (long long)n);
    return NULL;
  }
  int64_t largest = -1;
  iso_tensor *v = n_classes ? iso__index_read(ctx, "one_hot", "index", index, n_classes, false)
                            : iso__index_read_bins(ctx, "one_hot", "index", index, &largest);
  if (!v) return NULL;
  memcpy(shape, v->view.shape, sizeof shape);
  shape[v->view.n_dims] = n_classes ? n_classes : largest + 1;
  iso_tensor *y = iso_tensor_zeros(ctx, ISO_I64, v->view.n_dims + 1, shape);
  if (y) {
    const int64_t *from = iso__data(v), step = shape[v->view.n_dims];
    int64_t *to = iso__data(y);
    for (int64_t i = 0; i < n; i++) to[i * step + from[i]] = 1;
  }
  return iso__drop(y, v);
}

iso_tensor *iso_bincount_weighted(iso_context *ctx, const iso_tensor *x, const iso_tensor *weights,
                                  int64_t min_length) {
  if (!iso__takes(ctx, "bincount_weighted", 2, ISO__TENSORS(x, weights)) ||
      !iso__takes_floats(ctx, "bincount_weighted", 1, &weights))
    return NULL;
  if (x->view.n_dims != 1 || !iso__same_shape(&x->view, &weights->view) || min_length < 0) {
    char a[128], b[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "bincount_weighted",
              "x is %s and weights are %s: (n) and (n) are needed, and min_length %lld at least 0",
              iso__shape_text(x->view.n_dims, x->view.shape, a, sizeof a),
              iso__shape_text(weights->view.n_dims, weights->view.shape, b, sizeof b), (long long)min_length);
    return NULL;
  }
  iso__enter(ctx);
  int64_t largest;
  iso_tensor *v = iso__index_read_bins(ctx, "bincount_weighted", "x", x, &largest), *y = NULL;
  if (v) {
    const iso__indexing at = {.extent = iso__max(largest + 1, min_length), .padding = -1};
    y = iso__scatter_sum(ctx, NULL, weights, v, &at);
  }
  return iso__leave(ctx, y);
}
