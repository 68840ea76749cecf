/* trigonometric.c: trigonometric and hyperbolic functions and their inverses. */
#include "ops/pointwise/unary.h"

iso_tensor *iso_sin(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "sin", ISO__MAP_SIN, ISO__RULE_SIN, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__sin_gradient(iso__gradient *g) { iso__chain(g, iso_cos(g->ctx, iso__saved(g, 0))); }

iso_tensor *iso_cos(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "cos", ISO__MAP_COS, ISO__RULE_COS, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__cos_gradient(iso__gradient *g) { iso__chain(g, iso_neg(g->ctx, iso_sin(g->ctx, iso__saved(g, 0)))); }

iso_tensor *iso_tan(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "tan", ISO__MAP_TAN, ISO__RULE_TAN, SAVE_Y, ISO__REAL_DTYPES, x);
}
void iso__tan_gradient(iso__gradient *g) {
  iso__chain(g, iso_add_scalar(g->ctx, iso_square(g->ctx, iso__saved(g, 0)), 1));
}

iso_tensor *iso_asin(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "asin", ISO__MAP_ASIN, ISO__RULE_ASIN, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__asin_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *xx = iso_square(ctx, iso__saved(g, 0));
  iso__chain(g, iso_rsqrt(ctx, iso_rsub_scalar(ctx, xx, 1)));
}

iso_tensor *iso_acos(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "acos", ISO__MAP_ACOS, ISO__RULE_ACOS, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__acos_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *xx = iso_square(ctx, iso__saved(g, 0));
  iso__chain(g, iso_neg(ctx, iso_rsqrt(ctx, iso_rsub_scalar(ctx, xx, 1))));
}

iso_tensor *iso_atan(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "atan", ISO__MAP_ATAN, ISO__RULE_ATAN, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__atan_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *xx = iso_square(ctx, iso__saved(g, 0));
  g->dx[0] = iso_div(ctx, g->dy[0], iso_add_scalar(ctx, xx, 1));
}

iso_tensor *iso_sinh(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "sinh", ISO__MAP_SINH, ISO__RULE_SINH, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__sinh_gradient(iso__gradient *g) { iso__chain(g, iso_cosh(g->ctx, iso__saved(g, 0))); }

iso_tensor *iso_cosh(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "cosh", ISO__MAP_COSH, ISO__RULE_COSH, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__cosh_gradient(iso__gradient *g) { iso__chain(g, iso_sinh(g->ctx, iso__saved(g, 0))); }

iso_tensor *iso_asinh(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "asinh", ISO__MAP_ASINH, ISO__RULE_ASINH, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__asinh_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *xx = iso_square(ctx, iso__saved(g, 0));
  iso__chain(g, iso_rsqrt(ctx, iso_add_scalar(ctx, xx, 1)));
}

iso_tensor *iso_acosh(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "acosh", ISO__MAP_ACOSH, ISO__RULE_ACOSH, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__acosh_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *xx = iso_square(ctx, iso__saved(g, 0));
  iso__chain(g, iso_rsqrt(ctx, iso_add_scalar(ctx, xx, -1)));
}

iso_tensor *iso_atanh(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "atanh", ISO__MAP_ATANH, ISO__RULE_ATANH, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__atanh_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *xx = iso_square(ctx, iso__saved(g, 0));
  g->dx[0] = iso_div(ctx, g->dy[0], iso_rsub_scalar(ctx, xx, 1));
}

/* The angle of the point (b, a): da = dy·b/(a² + b²), db = −dy·a/(a² + b²) */
iso_tensor *iso_atan2(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return iso__pointwise(ctx, "atan2", ISO__MAP_ATAN2, ISO__RULE_ATAN2, SAVE_X, ISO__REAL_DTYPES, 2, ISO__TENSORS(a, b),
                        NULL);
}
void iso__atan2_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *a = iso__saved(g, 0), *b = iso__saved(g, 1);
  iso_tensor *aa = iso_square(ctx, a), *bb = iso_square(ctx, b), *scaled = iso_div(ctx, g->dy[0], iso_add(ctx, aa, bb));
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(ctx, iso_mul(ctx, scaled, b), iso__input_view(g, 0));
  if (iso__needs(g, 1)) g->dx[1] = iso__sum_to(ctx, iso_neg(ctx, iso_mul(ctx, scaled, a)), iso__input_view(g, 1));
}
