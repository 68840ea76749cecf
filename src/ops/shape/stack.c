/* stack.c: joining tensors along a new axis, or after making their dimensions equal; grids of vectors. */
#include "ops/ops.h"

/* How one part becomes ready to be joined. */
typedef iso_tensor *prepare(iso_context *ctx, const iso_tensor *part, int arg);

static iso_tensor *join(iso_context *ctx, const char *op, int n, const iso_tensor *const *parts, prepare *ready,
                        int arg, int axis) {
  if (iso__failed(ctx)) return NULL;
  if (n < 1 || !parts) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%d parts%s", n, parts ? "" : ", and their list is NULL");
    return NULL;
  }
  if (!iso__takes(ctx, op, n, parts)) return NULL;
  iso_tensor **all = iso__zalloc(ctx, sizeof *all * (size_t)n);
  if (!all) return NULL;
  for (int i = 0; i < n; i++) all[i] = ready(ctx, parts[i], arg);
  iso_tensor *y = iso_cat(ctx, n, (const iso_tensor *const *)all, axis);
  for (int i = 0; i < n; i++) iso_release(all[i]);
  iso__free(ctx, all, sizeof *all * (size_t)n);
  return y;
}

iso_tensor *iso_stack(iso_context *ctx, int n, const iso_tensor *const *parts, int axis) {
  return join(ctx, "stack", n, parts, iso_unsqueeze, axis, axis);
}
iso_tensor *iso_hstack(iso_context *ctx, int n, const iso_tensor *const *parts) {
  const bool vectors = n > 0 && parts && parts[0] && parts[0]->view.n_dims < 2;
  return join(ctx, "hstack", n, parts, iso_atleast, 1, vectors ? 0 : 1);
}
iso_tensor *iso_vstack(iso_context *ctx, int n, const iso_tensor *const *parts) {
  return join(ctx, "vstack", n, parts, iso_atleast, 2, 0);
}
static iso_tensor *depth(iso_context *ctx, const iso_tensor *part, int n_dims) {
  iso_tensor *wide = part->view.n_dims < 2 ? iso_atleast(ctx, part, 2) : iso_tensor_alias(ctx, part);
  return wide ? iso__drop(iso_atleast(ctx, wide, n_dims), wide) : NULL;
}
iso_tensor *iso_dstack(iso_context *ctx, int n, const iso_tensor *const *parts) {
  return join(ctx, "dstack", n, parts, depth, 3, 2);
}
static iso_tensor *column(iso_context *ctx, const iso_tensor *part, int n_dims) {
  return part->view.n_dims < n_dims ? iso_reshape(ctx, part, 2, ISO_DIMS(-1, 1)) : iso_tensor_alias(ctx, part);
}
iso_tensor *iso_column_stack(iso_context *ctx, int n, const iso_tensor *const *parts) {
  return join(ctx, "column_stack", n, parts, column, 2, 1);
}

/* Each part padded to all columns, then rows joined. */
iso_tensor *iso_block_diag(iso_context *ctx, int n, const iso_tensor *const *parts) {
  if (iso__failed(ctx)) return NULL;
  if (n < 1 || !parts) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "block_diag", "%d parts%s", n, parts ? "" : ", and their list is NULL");
    return NULL;
  }
  if (!iso__takes(ctx, "block_diag", n, parts)) return NULL;
  iso_tensor **rows = iso__zalloc(ctx, sizeof *rows * (size_t)n);
  if (!rows) return NULL;
  int64_t columns = 0, at = 0;
  for (int i = 0; i < n; i++) {
    if (parts[i]->view.n_dims > 2)
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "block_diag", "part %d has %d dimensions: at most 2 are possible", i + 1,
                parts[i]->view.n_dims);
    rows[i] = iso_atleast(ctx, parts[i], 2);
    if (rows[i]) columns += rows[i]->view.shape[1];
  }
  for (int i = 0; i < n && rows[i]; i++) {
    const int64_t own = rows[i]->view.shape[1];
    rows[i] = iso__drop(iso_pad(ctx, rows[i], 2, ISO_DIMS(at, columns - at - own), ISO_PAD_CONSTANT, 0), rows[i]);
    at += own;
  }
  iso_tensor *y = iso__failed(ctx) ? NULL : iso_cat(ctx, n, (const iso_tensor *const *)rows, 0);
  for (int i = 0; i < n; i++) iso_release(rows[i]);
  iso__free(ctx, rows, sizeof *rows * (size_t)n);
  return y;
}

iso_status iso_meshgrid(iso_context *ctx, int n, const iso_tensor *const *parts, iso_tensor **grids) {
  for (int i = 0; i < n && grids; i++) grids[i] = NULL;
  if (iso__failed(ctx)) return iso__refusal(ctx);
  if (n < 1 || n > ISO_MAX_DIMS || !parts || !grids)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "meshgrid", "%d vectors of 1 to %d%s", n, ISO_MAX_DIMS,
                     parts && grids ? "" : ", and a list is NULL");
  if (!iso__takes(ctx, "meshgrid", n, parts)) return iso__refusal(ctx);
  int64_t shape[ISO_MAX_DIMS];
  for (int i = 0; i < n; i++) {
    if (parts[i]->view.n_dims > 1)
      return ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "meshgrid", "part %d has %d dimensions: vectors are needed", i + 1,
                       parts[i]->view.n_dims);
    shape[i] = iso__view_numel(&parts[i]->view);
  }
  for (int i = 0; i < n; i++) {
    int64_t alone[ISO_MAX_DIMS];
    for (int d = 0; d < n; d++) alone[d] = d == i ? shape[i] : 1;
    iso_tensor *line = iso_reshape(ctx, parts[i], n, alone);
    grids[i] = line ? iso__drop(iso_expand(ctx, line, n, shape), line) : NULL;
  }
  for (int i = 0; i < n && iso__failed(ctx); i++) {
    iso_release(grids[i]);
    grids[i] = NULL;
  }
  return ctx->error.code;
}
