/* norm.c: norms of any order over any axes. Orders 0, 1, 2 and ±inf are one look at x; the others raise it to the power
 * first. */
#include <math.h>
#include "base/fenv.h"
#include "ops/reduce/reduce.h"

typedef struct attributes {
  iso__axes axes;
  double p;
} attributes;

static iso_tensor *root(iso_context *ctx, iso_tensor *y) {
  return y ? iso__map(ctx, "vector_norm", ISO__MAP_SQRT, 1, ISO__TENSORS(y), NULL, y) : NULL;
}
/* (Σ|x|^p)^(1/p) */
static iso_tensor *power_norm(iso_context *ctx, const iso_tensor *x, const iso__axes *axes, double p) {
  iso_tensor *t = iso__map(ctx, "vector_norm", ISO__MAP_ABS, 1, ISO__TENSORS(x), NULL, NULL);
  iso_tensor *powers =
      t ? iso__map(ctx, "vector_norm", ISO__MAP_POW_SCALAR, 1, ISO__TENSORS(t), (const double[3]){p}, t) : NULL;
  iso_tensor *y = powers ? iso__reduce(ctx, ISO__REDUCE_SUM, powers, axes) : NULL;
  iso_release(t);
  return y ? iso__map(ctx, "vector_norm", ISO__MAP_POW_SCALAR, 1, ISO__TENSORS(y),
                      (const double[3]){iso__fenv_div(1, p)}, y)
           : NULL;
}
static iso_tensor *norm(iso_context *ctx, const iso_tensor *x, const iso__axes *axes, double p) {
  if (p == 2) return root(ctx, iso__reduce(ctx, ISO__REDUCE_SUM_SQUARES, x, axes));
  if (p == 1) return iso__reduce(ctx, ISO__REDUCE_SUM_ABS, x, axes);
  if (isinf(p)) return iso__reduce(ctx, p > 0 ? ISO__REDUCE_MAX_ABS : ISO__REDUCE_MIN_ABS, x, axes);
  if (p != 0) return power_norm(ctx, x, axes, p);
  iso_tensor *count = iso__reduce(ctx, ISO__REDUCE_COUNT, x, axes);
  return iso__drop(iso_cast(ctx, count, x->view.dtype), count);
}

iso_tensor *iso_vector_norm(iso_context *ctx, const iso_tensor *x, double p, int n_axes, const int *axes,
                            bool keep_dims) {
  ISO__AUTOCAST(ctx, "vector_norm", iso_vector_norm(ctx, x, p, n_axes, axes, keep_dims), &x);
  attributes a;
  memset(&a, 0, sizeof a);
  a.p = p;
  if (!iso__takes_floats(ctx, "vector_norm", 1, ISO__TENSORS(x)) ||
      !(isinf(p) ? iso__extremum_axes_read : iso__axes_read)(ctx, "vector_norm", x, n_axes, axes, keep_dims, &a.axes))
    return NULL;
  if (isnan(p)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "vector_norm", "the order p is NaN");
    return NULL;
  }
  iso_tensor *y = norm(ctx, x, &a.axes, p);
  return iso__finish(ctx, y, ISO_OK, ISO__RULE_VECTOR_NORM,
                     &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                            .n_inputs = 1,
                                            .saved = ISO__TENSORS(p == 0 ? NULL : x, p == 0 || p == 1 ? NULL : y),
                                            .n_saved = 2,
                                            .attrs = &a,
                                            .attr_bytes = sizeof a});
}

iso_tensor *iso__div_or_zero(iso_context *ctx, const iso_tensor *a, const iso_tensor *y) {
  iso_tensor *is_zero = iso_eq(ctx, y, iso__scalar(ctx, y ? y->view.dtype : ISO_F32, 0));
  return iso_masked_fill(ctx, iso_div(ctx, a, iso_masked_fill(ctx, y, is_zero, 1)), is_zero, 0);
}

/* dx = dy·sign(x)·(|x|/y)^(p − 1); 0 where x or y is 0. */
static iso_tensor *power_gradient(iso_context *ctx, iso_tensor *x, iso_tensor *y, iso_tensor *dy, double p) {
  iso_tensor *is_zero = iso_eq(ctx, x, iso__scalar(ctx, x ? x->view.dtype : ISO_F32, 0));
  iso_tensor *size = iso_abs(ctx, iso_masked_fill(ctx, x, is_zero, 1));
  iso_tensor *power = iso_masked_fill(ctx, iso_pow_scalar(ctx, size, p - 1), is_zero, 0);
  iso_tensor *y_is_zero = iso_eq(ctx, y, iso__scalar(ctx, y ? y->view.dtype : ISO_F32, 0));
  iso_tensor *y_power = iso_pow_scalar(ctx, iso_masked_fill(ctx, y, y_is_zero, 1), p - 1);
  iso_tensor *scale = iso_masked_fill(ctx, iso_div(ctx, dy, y_power), y_is_zero, 0);
  return iso_mul(ctx, iso_mul(ctx, iso_sign(ctx, x), power), scale);
}

void iso__vector_norm_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const attributes *a = iso__attrs(g);
  const iso__view *form = iso__input_view(g, 0);
  iso_tensor *x = iso__saved(g, 0), *y = iso__saved(g, 1);
  iso_tensor *dy = iso__reduced_keep(ctx, g->dy[0], form, &a->axes);
  if (y) y = iso__reduced_keep(ctx, y, form, &a->axes);
  if (a->p == 0) {
    g->dx[0] = iso_tensor_zeros(ctx, form->dtype, form->n_dims, form->shape);
  } else if (a->p == 1) {
    g->dx[0] = iso_mul(ctx, iso_sign(ctx, x), dy);
  } else if (a->p == 2) {
    g->dx[0] = iso_mul(ctx, x, iso__div_or_zero(ctx, dy, y));
  } else if (isinf(a->p)) {
    iso_tensor *share = iso__share(ctx, iso_eq(ctx, iso_abs(ctx, x), y), dy, form, &a->axes);
    g->dx[0] = iso_mul(ctx, iso_sign(ctx, x), share);
  } else {
    g->dx[0] = power_gradient(ctx, x, y, dy, a->p);
  }
}
