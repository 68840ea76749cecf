/* reduce.h: the axes of a reduction, and the launch that sum, prod, amax … share. */
#ifndef ISO_OPS_REDUCE_H
#define ISO_OPS_REDUCE_H
#include "kernels/reduce/reduce.h"
#include "ops/ops.h"

/* Which axes; also a node's attributes. */
typedef struct iso__axes {
  bool reduced[ISO_MAX_DIMS];
  bool keep_dims;
  int64_t n; /* elements of each sum */
} iso__axes;

/* Reads and checks the caller's axes (n_axes 0: all of them). */
bool iso__axes_read(iso_context *ctx, const char *op, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                    iso__axes *out);
/* The reduction itself, not recorded: rows (class lanes) if the reduced axes are innermost, else columns. */
iso_tensor *iso__reduce(iso_context *ctx, iso__reduce_fn fn, const iso_tensor *x, const iso__axes *axes);
/* The same and recorded. */
iso_tensor *iso__reduce_finish(iso_context *ctx, iso__reduce_fn fn, iso__rule_id rule, const iso_tensor *x,
                               const iso__axes *axes, bool save_x, bool save_y);
/* t with a result's shape → with the reduced axes as extents of 1; then repeated to the shape of x: views. */
iso_tensor *iso__reduced_keep(iso_context *ctx, const iso_tensor *t, const iso__view *x, const iso__axes *axes);
iso_tensor *iso__reduced_expand(iso_context *ctx, const iso_tensor *t, const iso__view *x, const iso__axes *axes);
#endif
