/* difference.c: differences of neighbours along an axis, and integrals by trapezoids. Compositions on the tape. */
#include "base/fenv.h"
#include "ops/reduce/scan.h"

/* x from `begin` on, `n` elements of the axis. */
static iso_tensor *part_of(iso_context *ctx, const iso_tensor *x, int axis, int64_t begin, int64_t n) {
  return iso_slice(ctx, x, axis, begin, begin + n, 1);
}
/* One difference: x[1 …] − x[0 …]; of bool, whether they differ. */
static iso_tensor *difference(iso_context *ctx, const iso_tensor *x, int axis) {
  if (!x) return NULL;
  const int64_t extent = x->view.shape[axis], n = extent > 0 ? extent - 1 : 0;
  iso_tensor *after = part_of(ctx, x, axis, extent - n, n), *before = part_of(ctx, x, axis, 0, n);
  return (x->view.dtype == ISO_BOOL ? iso_ne : iso_sub)(ctx, after, before);
}

iso_tensor *iso_diff(iso_context *ctx, const iso_tensor *x, int n, int axis, const iso_tensor *prepend,
                     const iso_tensor *append) {
  const iso_tensor *parts[3];
  int n_parts = 0;
  if (!iso__takes(ctx, "diff", 1, ISO__TENSORS(x)) || (axis = iso__axis(ctx, "diff", x, axis)) < 0) return NULL;
  if (n < 0) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "diff", "differences of order %d", n);
    return NULL;
  }
  if (n == 0) return iso_tensor_alias(ctx, x);
  if (prepend) parts[n_parts++] = prepend;
  parts[n_parts++] = x;
  if (append) parts[n_parts++] = append;
  iso__enter(ctx);
  iso_tensor *y = n_parts > 1 ? iso_cat(ctx, n_parts, parts, axis) : iso_tensor_alias(ctx, x);
  for (int i = 0; i < n && y && (i == 0 || y->view.shape[axis] > 0); i++) y = difference(ctx, y, axis);
  return iso__leave(ctx, y);
}

/* Areas between neighbours: (y[k] + y[k+1])/2 · (x[k+1] − x[k]), or · dx. In the caller's scope. */
static iso_tensor *areas(iso_context *ctx, const char *op, const iso_tensor *y, const iso_tensor *x, double dx,
                         int *axis) {
  if (!iso__takes_floats(ctx, op, x ? 2 : 1, ISO__TENSORS(y, x)) || (*axis = iso__axis(ctx, op, y, *axis)) < 0)
    return NULL;
  const int64_t extent = y->view.shape[*axis], n = extent > 0 ? extent - 1 : 0;
  iso_tensor *after = part_of(ctx, y, *axis, extent - n, n), *before = part_of(ctx, y, *axis, 0, n);
  iso_tensor *sum = iso_add(ctx, after, before);
  if (!x) return iso_mul_scalar(ctx, sum, iso__fenv_div(dx, 2));
  /* x of one axis lies along y's; otherwise it is broadcast to y */
  const iso_tensor *at = x;
  if (x->view.n_dims == 1) {
    int64_t shape[ISO_MAX_DIMS];
    for (int d = 0; d < y->view.n_dims; d++) shape[d] = d == *axis ? x->view.shape[0] : 1;
    at = iso_reshape(ctx, x, y->view.n_dims, shape);
  }
  const int of_x = at ? at->view.n_dims - (y->view.n_dims - *axis) : 0;
  if (at && (of_x < 0 || at->view.shape[of_x] != extent)) {
    char of[96], points[96];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x is %s where y is %s: one point for each value of axis %d is needed",
              iso__shape_text(x->view.n_dims, x->view.shape, points, sizeof points),
              iso__shape_text(y->view.n_dims, y->view.shape, of, sizeof of), *axis);
  }
  iso_tensor *steps = iso__failed(ctx) ? NULL : difference(ctx, at, of_x);
  return iso_mul_scalar(ctx, iso_mul(ctx, sum, steps), 0.5);
}

iso_tensor *iso_trapezoid(iso_context *ctx, const iso_tensor *y, const iso_tensor *x, double dx, int axis) {
  ISO__AUTOCAST(ctx, "trapezoid", iso_trapezoid(ctx, y, x, dx, axis), &y, &x);
  iso__enter(ctx);
  iso_tensor *parts = areas(ctx, "trapezoid", y, x, dx, &axis);
  const int from_end = axis - (y ? y->view.n_dims : 0); /* x may have brought axes of its own in front */
  return iso__leave(ctx, iso_sum(ctx, parts, 1, &from_end, false));
}
iso_tensor *iso_cumulative_trapezoid(iso_context *ctx, const iso_tensor *y, const iso_tensor *x, double dx, int axis) {
  ISO__AUTOCAST(ctx, "cumulative_trapezoid", iso_cumulative_trapezoid(ctx, y, x, dx, axis), &y, &x);
  iso__enter(ctx);
  iso_tensor *parts = areas(ctx, "cumulative_trapezoid", y, x, dx, &axis);
  return iso__leave(ctx, iso_cumsum(ctx, parts, axis - (y ? y->view.n_dims : 0)));
}
