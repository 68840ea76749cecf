/* scalar.c: pointwise operators of one tensor and numbers; a number is rounded to the dtype once, in the kernel. */
#include "ops/ops.h"

/* The node's attributes are the numbers. */
static iso_tensor *with_scalars(iso_context *ctx, const char *op, iso__map_fn fn, iso__rule_id rule,
                                const iso_tensor *x, double s, double t, bool save_x, bool save_y) {
  ISO__AUTOCAST(ctx, op, with_scalars(ctx, op, fn, rule, x, s, t, save_x, save_y), &x);
  const uint32_t dtypes = fn == ISO__MAP_RDIV_SCALAR ? ISO__REAL_DTYPES : ISO__ALL_DTYPES;
  if (!iso__takes_dtypes(ctx, op, dtypes, 1, ISO__TENSORS(x))) return NULL;
  const double scalars[3] = {s, t};
  iso_tensor *y = iso__map(ctx, op, fn, 1, ISO__TENSORS(x), scalars, NULL);
  return iso__finish(ctx, y, ISO_OK, rule,
                     &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                            .n_inputs = 1,
                                            .saved = ISO__TENSORS(save_x ? x : NULL, save_y ? y : NULL),
                                            .n_saved = save_x || save_y ? 2 : 0,
                                            .attrs = scalars,
                                            .attr_bytes = sizeof scalars});
}
static double scalar_of(const iso__gradient *g) { return *(const double *)iso__attrs(g); }

iso_tensor *iso_add_scalar(iso_context *ctx, const iso_tensor *x, double s) {
  return with_scalars(ctx, "add_scalar", ISO__MAP_ADD_SCALAR, ISO__RULE_ADD_SCALAR, x, s, 0, false, false);
}
void iso__add_scalar_gradient(iso__gradient *g) { g->dx[0] = g->dy[0]; }

iso_tensor *iso_mul_scalar(iso_context *ctx, const iso_tensor *x, double s) {
  return with_scalars(ctx, "mul_scalar", ISO__MAP_MUL_SCALAR, ISO__RULE_MUL_SCALAR, x, s, 0, false, false);
}
void iso__mul_scalar_gradient(iso__gradient *g) { g->dx[0] = iso_mul_scalar(g->ctx, g->dy[0], scalar_of(g)); }

iso_tensor *iso_rsub_scalar(iso_context *ctx, const iso_tensor *x, double s) {
  return with_scalars(ctx, "rsub_scalar", ISO__MAP_RSUB_SCALAR, ISO__RULE_RSUB_SCALAR, x, s, 0, false, false);
}
void iso__rsub_scalar_gradient(iso__gradient *g) { g->dx[0] = iso_neg(g->ctx, g->dy[0]); }

iso_tensor *iso_div_scalar(iso_context *ctx, const iso_tensor *x, double s) {
  if (!iso__takes_dtypes(ctx, "div_scalar", ISO__REAL_DTYPES, 1, ISO__TENSORS(x))) return NULL;
  iso_tensor *divisor = iso__scalar(ctx, x->view.dtype, s);
  return iso__drop(iso_div(ctx, x, divisor), divisor);
}

/* y = s/x: dx = −(dy·y)/x */
iso_tensor *iso_rdiv_scalar(iso_context *ctx, const iso_tensor *x, double s) {
  return with_scalars(ctx, "rdiv_scalar", ISO__MAP_RDIV_SCALAR, ISO__RULE_RDIV_SCALAR, x, s, 0, true, true);
}
void iso__rdiv_scalar_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  g->dx[0] = iso_neg(ctx, iso_div(ctx, iso_mul(ctx, g->dy[0], iso__saved(g, 1)), iso__saved(g, 0)));
}

/* dx = dy·(s·x^(s−1)); s = 0: zeros */
iso_tensor *iso_pow_scalar(iso_context *ctx, const iso_tensor *x, double s) {
  return with_scalars(ctx, "pow_scalar", ISO__MAP_POW_SCALAR, ISO__RULE_POW_SCALAR, x, s, 0, true, false);
}
void iso__pow_scalar_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const double s = scalar_of(g);
  const iso__view *v = iso__input_view(g, 0);
  if (s == 0) g->dx[0] = iso_tensor_zeros(ctx, v->dtype, v->n_dims, v->shape);
  else g->dx[0] = iso_mul(ctx, g->dy[0], iso_mul_scalar(ctx, iso_pow_scalar(ctx, iso__saved(g, 0), s - 1), s));
}

iso_tensor *iso_clamp(iso_context *ctx, const iso_tensor *x, double low, double high) {
  if (iso__failed(ctx) || !x) return NULL;
  if (!(low <= high)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "clamp", "low %g is not at most high %g", low, high);
    return NULL;
  }
  return with_scalars(ctx, "clamp", ISO__MAP_CLAMP, ISO__RULE_CLAMP, x, low, high, true, false);
}
/* dy where low ≤ x ≤ high */
static iso_tensor *clamp_bwd(iso_context *ctx, const iso_tensor *x, const iso_tensor *dy, const double *bounds) {
  iso_tensor *dx = iso__map(ctx, "clamp_bwd", ISO__MAP_CLAMP_BWD, 2, ISO__TENSORS(x, dy), bounds, NULL);
  return iso__finish(ctx, dx, ISO_OK, ISO__RULE_CLAMP_BWD,
                     &(iso__finish_options){.inputs = ISO__TENSORS(NULL, dy),
                                            .n_inputs = 2,
                                            .saved = ISO__TENSORS(x),
                                            .n_saved = 1,
                                            .attrs = bounds,
                                            .attr_bytes = 3 * sizeof *bounds});
}
void iso__clamp_gradient(iso__gradient *g) {
  iso_tensor *x = iso__saved(g, 0);
  if (x) g->dx[0] = clamp_bwd(g->ctx, x, g->dy[0], iso__attrs(g));
}
void iso__clamp_bwd_gradient(iso__gradient *g) {
  iso_tensor *x = iso__saved(g, 0);
  if (x && iso__needs(g, 1)) g->dx[1] = clamp_bwd(g->ctx, x, g->dy[0], iso__attrs(g));
}
