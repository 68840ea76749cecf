/* cumulative.c: cumulative products, extrema and log-sum-exps along an axis. */
#include <math.h>
#include "ops/reduce/scan.h"

/* A scan whose gradient reads x and y. */
static iso_tensor *scanned(iso_context *ctx, const char *op, iso__scan_fn fn, iso__rule_id rule, uint32_t dtypes,
                           const iso_tensor *x, iso__scan_axis a) {
  if (!iso__scan_takes(ctx, op, dtypes, x, &a)) return NULL;
  iso_tensor *y = iso__scan(ctx, fn, x, &a, NULL);
  return iso__finish(ctx, y, ISO_OK, rule,
                     &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                            .n_inputs = 1,
                                            .saved = ISO__TENSORS(x, y),
                                            .n_saved = 2,
                                            .attrs = &a,
                                            .attr_bytes = sizeof a});
}

/* ---- products ---- */

iso_tensor *iso_cumprod(iso_context *ctx, const iso_tensor *x, int axis) {
  ISO__AUTOCAST(ctx, "cumprod", iso_cumprod(ctx, x, axis), &x);
  return scanned(ctx, "cumprod", ISO__SCAN_PROD, ISO__RULE_CUMPROD, ISO__FLOAT_DTYPES | ISO__WHOLE_DTYPES, x,
                 (iso__scan_axis){.axis = axis});
}
/* Before the first zero: the reversed sum of dy·y, over x. At it: the reversed sum of dy·y' from there on, y' the
 * products without it. Behind it: 0. */
void iso__cumprod_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const int axis = ((const iso__scan_axis *)iso__attrs(g))->axis;
  const iso_dtype dtype = iso__input_view(g, 0)->dtype;
  iso_tensor *x = iso__saved(g, 0), *y = iso__saved(g, 1);
  iso_tensor *is_zero = iso_eq(ctx, x, iso__scalar(ctx, dtype, 0)), *n_zeros = iso_cumsum(ctx, is_zero, axis);
  iso_tensor *before = iso_eq(ctx, n_zeros, iso__scalar(ctx, ISO_I64, 0));
  iso_tensor *first = iso_logical_and(ctx, is_zero, iso_eq(ctx, n_zeros, iso__scalar(ctx, ISO_I64, 1)));
  iso_tensor *filled = iso_masked_fill(ctx, x, is_zero, 1);
  iso_tensor *smooth = iso_div(ctx, iso__cumsum(ctx, iso_mul(ctx, g->dy[0], y), axis, true), filled);
  iso_tensor *others = iso_cumprod(ctx, iso_masked_fill(ctx, x, first, 1), axis);
  iso_tensor *at_first = iso__cumsum(ctx, iso_masked_fill(ctx, iso_mul(ctx, g->dy[0], others), before, 0), axis, true);
  iso_tensor *zero = iso__scalar(ctx, dtype, 0);
  g->dx[0] = iso_where(ctx, before, smooth, iso_where(ctx, first, at_first, zero));
}

/* ---- extrema ---- */

static iso_tensor *extremum(iso_context *ctx, const char *op, iso__scan_fn fn, const iso_tensor *x, int axis,
                            iso_tensor **index) {
  iso__scan_axis a = {.axis = axis};
  if (index) *index = NULL;
  if (!iso__scan_takes(ctx, op, ISO__FLOAT_DTYPES | ISO__WHOLE_DTYPES, x, &a)) return NULL;
  iso_tensor *at, *y = iso__scan(ctx, fn, x, &a, &at);
  iso_tensor *result = iso__finish(ctx, y, ISO_OK, ISO__RULE_CUMMAX,
                                   &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                                          .n_inputs = 1,
                                                          .saved = ISO__TENSORS(at),
                                                          .n_saved = 1,
                                                          .attrs = &a,
                                                          .attr_bytes = sizeof a});
  if (index && result) *index = at;
  else iso_release(at);
  return result;
}
iso_tensor *iso_cummax(iso_context *ctx, const iso_tensor *x, int axis, iso_tensor **index) {
  return extremum(ctx, "cummax", ISO__SCAN_MAX, x, axis, index);
}
iso_tensor *iso_cummin(iso_context *ctx, const iso_tensor *x, int axis, iso_tensor **index) {
  return extremum(ctx, "cummin", ISO__SCAN_MIN, x, axis, index);
}
void iso__cummax_gradient(iso__gradient *g) {
  const iso__view *form = iso__input_view(g, 0);
  const int axis = ((const iso__scan_axis *)iso__attrs(g))->axis;
  if (form->n_dims == 0) {
    g->dx[0] = g->dy[0];
    return;
  }
  iso_tensor *zeros = iso_tensor_zeros(g->ctx, form->dtype, form->n_dims, form->shape);
  g->dx[0] = iso_scatter_add(g->ctx, zeros, axis, iso__saved(g, 0), g->dy[0]);
}

/* ---- log-sum-exps ---- */

iso_tensor *iso_logcumsumexp(iso_context *ctx, const iso_tensor *x, int axis) {
  ISO__AUTOCAST(ctx, "logcumsumexp", iso_logcumsumexp(ctx, x, axis), &x);
  return iso__logcumsumexp(ctx, x, axis, false);
}
iso_tensor *iso__logcumsumexp(iso_context *ctx, const iso_tensor *x, int axis, bool reverse) {
  return scanned(ctx, "logcumsumexp", ISO__SCAN_LOGSUMEXP, ISO__RULE_LOGCUMSUMEXP, ISO__FLOAT_DTYPES, x,
                 (iso__scan_axis){.axis = axis, .reverse = reverse});
}
/* exp(x)·Σ|dy|·exp(−y) over the dy of one sign, Σ from the other end, all of it in logarithms. */
static iso_tensor *of_sign(iso__gradient *g, const iso_tensor *chosen) {
  iso_context *ctx = g->ctx;
  const iso__scan_axis *a = iso__attrs(g);
  iso_tensor *others = iso_logical_not(ctx, chosen);
  iso_tensor *size = iso_log(ctx, iso_abs(ctx, iso_masked_fill(ctx, g->dy[0], others, 1)));
  iso_tensor *part = iso_masked_fill(ctx, iso_sub(ctx, size, iso__saved(g, 1)), others, -(double)INFINITY);
  return iso_exp(ctx, iso_add(ctx, iso__logcumsumexp(ctx, part, a->axis, !a->reverse), iso__saved(g, 0)));
}
void iso__logcumsumexp_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *zero = iso__scalar(ctx, iso__input_view(g, 0)->dtype, 0);
  iso_tensor *up = of_sign(g, iso_gt(ctx, g->dy[0], zero)), *down = of_sign(g, iso_lt(ctx, g->dy[0], zero));
  g->dx[0] = iso_sub(ctx, up, down);
}
