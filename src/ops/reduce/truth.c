/* truth.c: any, all and the count of what is not 0. A NaN is true. */
#include "ops/reduce/reduce.h"

static iso_tensor *truth(iso_context *ctx, const char *op, iso__reduce_fn fn, const iso_tensor *x, int n_axes,
                         const int *axes, bool keep_dims) {
  iso__axes a;
  if (!iso__takes_dtypes(ctx, op, ISO__FLOAT_DTYPES | ISO__WHOLE_DTYPES, 1, ISO__TENSORS(x)) ||
      !iso__axes_read(ctx, op, x, n_axes, axes, keep_dims, &a))
    return NULL;
  return iso__reduce(ctx, fn, x, &a);
}

iso_tensor *iso_any(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  return truth(ctx, "any", ISO__REDUCE_ANY, x, n_axes, axes, keep_dims);
}
iso_tensor *iso_all(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  return truth(ctx, "all", ISO__REDUCE_ALL, x, n_axes, axes, keep_dims);
}
iso_tensor *iso_count_nonzero(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes) {
  return truth(ctx, "count_nonzero", ISO__REDUCE_COUNT, x, n_axes, axes, false);
}
