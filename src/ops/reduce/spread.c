/* spread.c: variance and standard deviation: mean first, then the squares of what deviates from it, in one kernel that
 * looks twice at elements while they are in the cache. The mean is the second result, saved for the gradient. */
#include "base/fenv.h"
#include "ops/reduce/reduce.h"

typedef struct attributes {
  iso__axes axes;
  double divisor;
  bool root;
} attributes;

static iso_tensor *spread(iso_context *ctx, const char *op, iso__reduce_fn fn, const iso_tensor *x, int n_axes,
                          const int *axes, bool keep_dims, double correction, iso_tensor **mean) {
  attributes a;
  memset(&a, 0, sizeof a);
  if (mean) *mean = NULL;
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(x)) || !iso__axes_read(ctx, op, x, n_axes, axes, keep_dims, &a.axes))
    return NULL;
  const double degrees = iso__fenv_sub((double)a.axes.n, correction);
  a.divisor = degrees < 0 ? 0 : degrees;
  a.root = fn == ISO__REDUCE_STD;
  iso_tensor *means, *y = iso__reduce_two(ctx, fn, x, &a.axes, a.divisor, &means);
  y = iso__finish(ctx, y, ISO_OK, ISO__RULE_VAR,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                         .n_inputs = 1,
                                         .saved = ISO__TENSORS(x, means, a.root ? y : NULL),
                                         .n_saved = 3,
                                         .second = means,
                                         .attrs = &a,
                                         .attr_bytes = sizeof a});
  if (mean && y) *mean = means;
  else if (y) iso_release(means);
  return y;
}

iso_tensor *iso_var(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                    double correction) {
  ISO__AUTOCAST(ctx, "var", iso_var(ctx, x, n_axes, axes, keep_dims, correction), &x);
  return spread(ctx, "var", ISO__REDUCE_VAR, x, n_axes, axes, keep_dims, correction, NULL);
}
iso_tensor *iso_std(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                    double correction) {
  ISO__AUTOCAST(ctx, "std", iso_std(ctx, x, n_axes, axes, keep_dims, correction), &x);
  return spread(ctx, "std", ISO__REDUCE_STD, x, n_axes, axes, keep_dims, correction, NULL);
}
iso_tensor *iso_var_mean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                         double correction, iso_tensor **mean) {
  ISO__AUTOCAST(ctx, "var_mean", iso_var_mean(ctx, x, n_axes, axes, keep_dims, correction, mean), &x);
  return spread(ctx, "var_mean", ISO__REDUCE_VAR, x, n_axes, axes, keep_dims, correction, mean);
}
iso_tensor *iso_std_mean(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims,
                         double correction, iso_tensor **mean) {
  ISO__AUTOCAST(ctx, "std_mean", iso_std_mean(ctx, x, n_axes, axes, keep_dims, correction, mean), &x);
  return spread(ctx, "std_mean", ISO__REDUCE_STD, x, n_axes, axes, keep_dims, correction, mean);
}

/* dx = (x − mean)·2·dvar/divisor + dmean/n, where a root's dvar = dy/(2·y), 0 where y is 0. */
void iso__var_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const attributes *a = iso__attrs(g);
  const iso__view *form = iso__input_view(g, 0);
  if (g->dy[0]) {
    iso_tensor *dvar = g->dy[0];
    if (a->root) dvar = iso_mul_scalar(ctx, iso__div_or_zero(ctx, dvar, iso__saved(g, 2)), 0.5);
    dvar = iso__reduced_keep(ctx, iso_mul_scalar(ctx, dvar, 2 / a->divisor), form, &a->axes);
    iso_tensor *mean = iso__reduced_keep(ctx, iso__saved(g, 1), form, &a->axes);
    g->dx[0] = iso_mul(ctx, iso_sub(ctx, iso__saved(g, 0), mean), dvar);
  }
  if (g->dy[1]) {
    iso_tensor *share = iso_div_scalar(ctx, g->dy[1], (double)a->axes.n);
    iso_tensor *dmean = iso__reduced_expand(ctx, share, form, &a->axes);
    g->dx[0] = g->dx[0] ? iso_add(ctx, g->dx[0], dmean) : dmean;
  }
}
