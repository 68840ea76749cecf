/* distance.c: what is made of norms: distance, normalising. Compositions on the tape. */
#include <math.h>
#include "ops/reduce/reduce.h"

iso_tensor *iso_dist(iso_context *ctx, const iso_tensor *x, const iso_tensor *y, double p) {
  ISO__AUTOCAST(ctx, "dist", iso_dist(ctx, x, y, p), &x, &y);
  if (!iso__takes_floats(ctx, "dist", 2, ISO__TENSORS(x, y)) || !y) return NULL;
  iso__enter(ctx);
  return iso__leave(ctx, iso_vector_norm(ctx, iso_sub(ctx, x, y), p, 0, NULL, false));
}

/* x / max(norm, eps) */
iso_tensor *iso_normalize(iso_context *ctx, const iso_tensor *x, double p, int axis, double eps) {
  ISO__AUTOCAST(ctx, "normalize", iso_normalize(ctx, x, p, axis, eps), &x);
  if (!iso__takes_floats(ctx, "normalize", 1, ISO__TENSORS(x))) return NULL;
  iso__enter(ctx);
  iso_tensor *norm = iso_vector_norm(ctx, x, p, 1, &axis, true);
  return iso__leave(ctx, iso_div(ctx, x, iso_clamp(ctx, norm, eps, (double)INFINITY)));
}

iso_tensor *iso_renorm(iso_context *ctx, const iso_tensor *x, double p, int axis, double max_norm) {
  ISO__AUTOCAST(ctx, "renorm", iso_renorm(ctx, x, p, axis, max_norm), &x);
  int axes[ISO_MAX_DIMS], n = 0;
  if (!iso__takes_floats(ctx, "renorm", 1, ISO__TENSORS(x)) || (axis = iso__axis(ctx, "renorm", x, axis)) < 0)
    return NULL;
  if (x->view.n_dims < 2 || !(p > 0) || !(max_norm >= 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "renorm",
              "%d dimensions, p %g and max_norm %g: at least 2, p > 0 and max_norm of at least 0 are needed",
              x->view.n_dims, p, max_norm);
    return NULL;
  }
  for (int d = 0; d < x->view.n_dims; d++)
    if (d != axis) axes[n++] = d;
  const iso_dtype dtype = x->view.dtype;
  iso__enter(ctx);
  iso_tensor *norm = iso_vector_norm(ctx, x, p, n, axes, true);
  iso_tensor *is_large = iso_gt(ctx, norm, iso__scalar(ctx, dtype, max_norm));
  iso_tensor *small = iso_rdiv_scalar(ctx, iso_add_scalar(ctx, norm, 1e-7), max_norm);
  return iso__leave(ctx, iso_mul(ctx, x, iso_where(ctx, is_large, small, iso__scalar(ctx, dtype, 1))));
}
