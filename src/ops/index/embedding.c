/* embedding.c: rows of a table by index; the gradient is the ordered sum of each row's contributions, whatever the
 * threads. The padding's row gets none. */
#include "ops/index/index.h"

/* The row that padding stands for, −1 without one; false with the error kept. */
bool iso__padding_row(iso_context *ctx, const char *op, bool has, int64_t padding, int64_t rows, int64_t *row) {
  *row = -1;
  if (!has) return true;
  *row = padding < 0 ? padding + rows : padding;
  if (*row >= 0 && *row < rows) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "padding is %lld: a table with %lld rows", (long long)padding,
            (long long)rows);
  return false;
}
bool iso__is_table(iso_context *ctx, const char *op, const iso_tensor *weights) {
  if (weights->view.n_dims == 2) return true;
  char text[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "weights are %s: (rows,d) is needed",
            iso__shape_text(weights->view.n_dims, weights->view.shape, text, sizeof text));
  return false;
}

iso_tensor *iso_embedding(iso_context *ctx, const iso_tensor *index, const iso_tensor *weights,
                          const iso_embedding_options *options) {
  const iso_embedding_options o = options ? *options : (iso_embedding_options){0};
  iso__indexing at = {.padding = -1, .by_frequency = o.scale_by_frequency};
  if (!iso__takes(ctx, "embedding", 2, ISO__TENSORS(index, weights)) || !iso__is_table(ctx, "embedding", weights) ||
      !iso__padding_row(ctx, "embedding", o.has_padding, o.padding, weights->view.shape[0], &at.padding))
    return NULL;
  if (index->view.n_dims >= ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "embedding", "index has %d axes: the result would have one more than %d",
              index->view.n_dims, ISO_MAX_DIMS);
    return NULL;
  }
  iso__enter(ctx);
  iso_tensor *v = iso__index_read(ctx, "embedding", "index", index, weights->view.shape[0], false), *y = NULL;
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, index->view.shape, sizeof shape);
  shape[index->view.n_dims] = weights->view.shape[1];
  y = iso__gather_at(ctx, weights, v, &at);
  return iso__leave(ctx, y ? iso_reshape(ctx, y, index->view.n_dims + 1, shape) : NULL);
}
