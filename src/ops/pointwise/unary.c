/* unary.c: elementary functions of one variable. Each saves its argument or its result, whichever its derivative reads.
 */
#include "ops/pointwise/unary.h"

iso_tensor *iso__pointwise(iso_context *ctx, const char *op, iso__map_fn fn, iso__rule_id rule, iso__save saves,
                           uint32_t dtypes, int n, const iso_tensor *const *in, const double *scalars) {
  const iso_tensor *t[3] = {in[0], n > 1 ? in[1] : NULL, n > 2 ? in[2] : NULL};
  ISO__AUTOCAST(ctx, op, iso__pointwise(ctx, op, fn, rule, saves, dtypes, n, t, scalars), &t[0], &t[1], &t[2]);
  if ((n > 1 && !iso__takes(ctx, op, n, in)) || !iso__takes_dtypes(ctx, op, dtypes, n, in)) return NULL;
  iso_tensor *y = iso__map(ctx, op, fn, n, in, scalars, NULL);
  return iso__finish(ctx, y, ISO_OK, rule,
                     &(iso__finish_options){.inputs = in,
                                            .n_inputs = n,
                                            .saved = saves == SAVE_X ? in : ISO__TENSORS(y),
                                            .n_saved = saves == SAVE_X ? n : saves == SAVE_Y,
                                            .attrs = scalars,
                                            .attr_bytes = scalars ? 3 * sizeof *scalars : 0});
}
iso_tensor *iso__unary(iso_context *ctx, const char *op, iso__map_fn fn, iso__rule_id rule, iso__save saves,
                       uint32_t dtypes, const iso_tensor *x) {
  return iso__pointwise(ctx, op, fn, rule, saves, dtypes, 1, ISO__TENSORS(x), NULL);
}

static const double LN10 = 0x1.26bb1bbb55516p+1, TWO_OVER_SQRT_PI = 0x1.20dd750429b6dp+0;

iso_tensor *iso_neg(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "neg", ISO__MAP_NEG, ISO__RULE_NEG, SAVE_NOTHING, ISO__ALL_DTYPES, x);
}
void iso__neg_gradient(iso__gradient *g) { g->dx[0] = iso_neg(g->ctx, g->dy[0]); }

iso_tensor *iso_abs(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "abs", ISO__MAP_ABS, ISO__RULE_ABS, SAVE_X, ISO__ALL_DTYPES, x);
}
void iso__abs_gradient(iso__gradient *g) { iso__chain(g, iso_sign(g->ctx, iso__saved(g, 0))); }

iso_tensor *iso_square(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "square", ISO__MAP_SQUARE, ISO__RULE_SQUARE, SAVE_X, ISO__ALL_DTYPES, x);
}
void iso__square_gradient(iso__gradient *g) { iso__chain(g, iso_mul_scalar(g->ctx, iso__saved(g, 0), 2)); }

iso_tensor *iso_sqrt(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "sqrt", ISO__MAP_SQRT, ISO__RULE_SQRT, SAVE_Y, ISO__REAL_DTYPES, x);
}
void iso__sqrt_gradient(iso__gradient *g) {
  g->dx[0] = iso_div(g->ctx, g->dy[0], iso_mul_scalar(g->ctx, iso__saved(g, 0), 2));
}

iso_tensor *iso_rsqrt(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "rsqrt", ISO__MAP_RSQRT, ISO__RULE_RSQRT, SAVE_Y, ISO__REAL_DTYPES, x);
}
void iso__rsqrt_gradient(iso__gradient *g) {
  iso_tensor *y = iso__saved(g, 0);
  iso__chain(g, iso_mul_scalar(g->ctx, iso_mul(g->ctx, y, iso_square(g->ctx, y)), -0.5));
}

iso_tensor *iso_reciprocal(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "reciprocal", ISO__MAP_RECIPROCAL, ISO__RULE_RECIPROCAL, SAVE_Y, ISO__REAL_DTYPES, x);
}
void iso__reciprocal_gradient(iso__gradient *g) {
  iso__chain(g, iso_neg(g->ctx, iso_square(g->ctx, iso__saved(g, 0))));
}

iso_tensor *iso_exp(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "exp", ISO__MAP_EXP, ISO__RULE_EXP, SAVE_Y, ISO__REAL_DTYPES, x);
}
void iso__exp_gradient(iso__gradient *g) { iso__chain(g, iso__saved(g, 0)); }

iso_tensor *iso_exp2(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "exp2", ISO__MAP_EXP2, ISO__RULE_EXP2, SAVE_Y, ISO__REAL_DTYPES, x);
}
void iso__exp2_gradient(iso__gradient *g) { iso__chain(g, iso_mul_scalar(g->ctx, iso__saved(g, 0), ISO__LN2)); }

iso_tensor *iso_expm1(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "expm1", ISO__MAP_EXPM1, ISO__RULE_EXPM1, SAVE_Y, ISO__REAL_DTYPES, x);
}
void iso__expm1_gradient(iso__gradient *g) { iso__chain(g, iso_add_scalar(g->ctx, iso__saved(g, 0), 1)); }

iso_tensor *iso_log(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "log", ISO__MAP_LOG, ISO__RULE_LOG, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__log_gradient(iso__gradient *g) { g->dx[0] = iso_div(g->ctx, g->dy[0], iso__saved(g, 0)); }

iso_tensor *iso_log2(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "log2", ISO__MAP_LOG2, ISO__RULE_LOG2, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__log2_gradient(iso__gradient *g) {
  g->dx[0] = iso_div(g->ctx, g->dy[0], iso_mul_scalar(g->ctx, iso__saved(g, 0), ISO__LN2));
}

iso_tensor *iso_log1p(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "log1p", ISO__MAP_LOG1P, ISO__RULE_LOG1P, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__log1p_gradient(iso__gradient *g) {
  g->dx[0] = iso_div(g->ctx, g->dy[0], iso_add_scalar(g->ctx, iso__saved(g, 0), 1));
}

iso_tensor *iso_erf(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "erf", ISO__MAP_ERF, ISO__RULE_ERF, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__erf_gradient(iso__gradient *g) {
  iso_tensor *bell = iso_exp(g->ctx, iso_neg(g->ctx, iso_square(g->ctx, iso__saved(g, 0))));
  iso__chain(g, iso_mul_scalar(g->ctx, bell, TWO_OVER_SQRT_PI));
}

iso_tensor *iso_sinpi(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "sinpi", ISO__MAP_SINPI, ISO__RULE_SINPI, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__sinpi_gradient(iso__gradient *g) {
  iso__chain(g, iso_mul_scalar(g->ctx, iso_cospi(g->ctx, iso__saved(g, 0)), ISO__PI));
}

iso_tensor *iso_cospi(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "cospi", ISO__MAP_COSPI, ISO__RULE_COSPI, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__cospi_gradient(iso__gradient *g) {
  iso__chain(g, iso_mul_scalar(g->ctx, iso_sinpi(g->ctx, iso__saved(g, 0)), -ISO__PI));
}

iso_tensor *iso_log10(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "log10", ISO__MAP_LOG10, ISO__RULE_LOG10, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__log10_gradient(iso__gradient *g) {
  g->dx[0] = iso_div(g->ctx, g->dy[0], iso_mul_scalar(g->ctx, iso__saved(g, 0), LN10));
}

iso_tensor *iso_erfc(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "erfc", ISO__MAP_ERFC, ISO__RULE_ERFC, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__erfc_gradient(iso__gradient *g) {
  iso_tensor *bell = iso_exp(g->ctx, iso_neg(g->ctx, iso_square(g->ctx, iso__saved(g, 0))));
  iso__chain(g, iso_mul_scalar(g->ctx, bell, -TWO_OVER_SQRT_PI));
}
