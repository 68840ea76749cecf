/* mixed.c: less usual pointwise operators of several operands, and special functions. */
#include "base/fenv.h"
#include "ops/pointwise/unary.h"

/* Of real numbers; the derivative reads all operands. */
static iso_tensor *compute(iso_context *ctx, const char *op, iso__map_fn fn, iso__rule_id rule, int n,
                           const iso_tensor *const *in, const double *scalars) {
  return iso__pointwise(ctx, op, fn, rule, SAVE_X, ISO__REAL_DTYPES, n, in, scalars);
}
/* dx[i] = dy·slope, summed to the operand; slope is only computed where it is needed. */
static void chain(iso__gradient *g, int i, iso_tensor *slope) {
  g->dx[i] = iso__sum_to(g->ctx, iso_mul(g->ctx, g->dy[0], slope), iso__input_view(g, i));
}
static iso_tensor *zero_like(iso__gradient *g) { return iso__scalar(g->ctx, g->dy[0]->view.dtype, 0); }

/* a + alpha·b, one rounding */
iso_tensor *iso_add_scaled(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double alpha) {
  ISO__AUTOCAST(ctx, "add_scaled", iso_add_scaled(ctx, a, b, alpha), &a, &b);
  const iso_tensor *const in[] = {a, b};
  if (!iso__takes(ctx, "add_scaled", 2, in) || !iso__takes_dtypes(ctx, "add_scaled", ISO__ALL_DTYPES, 2, in))
    return NULL;
  const double scalars[3] = {alpha};
  iso_tensor *y = iso__map(ctx, "add_scaled", ISO__MAP_FMA_SCALAR, 2, ISO__TENSORS(b, a), scalars, NULL);
  return iso__finish(
      ctx, y, ISO_OK, ISO__RULE_ADD_SCALED,
      &(iso__finish_options){.inputs = in, .n_inputs = 2, .attrs = scalars, .attr_bytes = sizeof scalars});
}
void iso__add_scaled_gradient(iso__gradient *g) {
  const double *s = iso__attrs(g);
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(g->ctx, g->dy[0], iso__input_view(g, 0));
  if (iso__needs(g, 1)) g->dx[1] = iso__sum_to(g->ctx, iso_mul_scalar(g->ctx, g->dy[0], s[0]), iso__input_view(g, 1));
}

/* |a| with the sign of b: da = dy·y/a, 0 where a = 0 */
iso_tensor *iso_copysign(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "copysign", ISO__MAP_COPYSIGN, ISO__RULE_COPYSIGN, 2, ISO__TENSORS(a, b), NULL);
}
void iso__copysign_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *a = iso__saved(g, 0), *b = iso__saved(g, 1), *zero = zero_like(g);
  const iso__view *v = iso__input_view(g, 1);
  if (iso__needs(g, 0)) {
    iso_tensor *ratio = iso_div(ctx, iso_copysign(ctx, a, b), a);
    chain(g, 0, iso_where(ctx, iso_eq(ctx, a, zero), zero, ratio));
  }
  if (iso__needs(g, 1)) g->dx[1] = iso_tensor_zeros(ctx, v->dtype, v->n_dims, v->shape);
}

/* A neighbour goes where a goes: da = dy where a ≠ b */
iso_tensor *iso_nextafter(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  const iso_tensor *const in[] = {a, b};
  if (!iso__takes(ctx, "nextafter", 2, in) || !iso__takes_floats(ctx, "nextafter", 2, in)) return NULL;
  return compute(ctx, "nextafter", ISO__MAP_NEXTAFTER, ISO__RULE_NEXTAFTER, 2, in, NULL);
}
void iso__nextafter_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__view *v = iso__input_view(g, 1);
  if (iso__needs(g, 0)) {
    iso_tensor *moves = iso_ne(ctx, iso__saved(g, 0), iso__saved(g, 1));
    g->dx[0] = iso__sum_to(ctx, iso_where(ctx, moves, g->dy[0], zero_like(g)), iso__input_view(g, 0));
  }
  if (iso__needs(g, 1)) g->dx[1] = iso_tensor_zeros(ctx, v->dtype, v->n_dims, v->shape);
}
iso_tensor *iso_heaviside(iso_context *ctx, const iso_tensor *x, const iso_tensor *at_zero) {
  const iso_tensor *const in[] = {x, at_zero};
  if (!iso__takes(ctx, "heaviside", 2, in) || !iso__takes_dtypes(ctx, "heaviside", ISO__ALL_DTYPES, 2, in)) return NULL;
  return iso__map(ctx, "heaviside", ISO__MAP_HEAVISIDE, 2, in, NULL, NULL);
}

/* ---- the larger, the smaller of two where a NaN is no number; of equals the first is taken ---- */

static void choice_gradient(iso__gradient *g, bool larger) {
  iso_context *ctx = g->ctx;
  iso_tensor *a = iso__saved(g, 0), *b = iso__saved(g, 1), *zero = zero_like(g), *dy = g->dy[0];
  iso_tensor *first = iso_logical_or(ctx, larger ? iso_ge(ctx, a, b) : iso_le(ctx, a, b), iso_isnan(ctx, b));
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(ctx, iso_where(ctx, first, dy, zero), iso__input_view(g, 0));
  if (iso__needs(g, 1)) g->dx[1] = iso__sum_to(ctx, iso_where(ctx, first, zero, dy), iso__input_view(g, 1));
}
iso_tensor *iso_fmax(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "fmax", ISO__MAP_FMAX, ISO__RULE_FMAX, 2, ISO__TENSORS(a, b), NULL);
}
void iso__fmax_gradient(iso__gradient *g) { choice_gradient(g, true); }
iso_tensor *iso_fmin(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "fmin", ISO__MAP_FMIN, ISO__RULE_FMIN, 2, ISO__TENSORS(a, b), NULL);
}
void iso__fmin_gradient(iso__gradient *g) { choice_gradient(g, false); }

/* Bounds that are tensors: the gradient goes to x where it is within, else to the bound. */
static void bound_gradient(iso__gradient *g, bool is_low) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0), *bound = iso__saved(g, 1), *zero = zero_like(g), *dy = g->dy[0];
  iso_tensor *inside = is_low ? iso_ge(ctx, x, bound) : iso_le(ctx, x, bound);
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(ctx, iso_where(ctx, inside, dy, zero), iso__input_view(g, 0));
  if (!iso__needs(g, 1)) return;
  iso_tensor *outside = is_low ? iso_lt(ctx, x, bound) : iso_gt(ctx, x, bound);
  g->dx[1] = iso__sum_to(ctx, iso_where(ctx, outside, dy, zero), iso__input_view(g, 1));
}
iso_tensor *iso_clamp_min(iso_context *ctx, const iso_tensor *x, const iso_tensor *low) {
  return iso__pointwise(ctx, "clamp_min", ISO__MAP_MAXIMUM, ISO__RULE_CLAMP_MIN, SAVE_X, ISO__ALL_DTYPES, 2,
                        ISO__TENSORS(x, low), NULL);
}
void iso__clamp_min_gradient(iso__gradient *g) { bound_gradient(g, true); }
iso_tensor *iso_clamp_max(iso_context *ctx, const iso_tensor *x, const iso_tensor *high) {
  return iso__pointwise(ctx, "clamp_max", ISO__MAP_MINIMUM, ISO__RULE_CLAMP_MAX, SAVE_X, ISO__ALL_DTYPES, 2,
                        ISO__TENSORS(x, high), NULL);
}
void iso__clamp_max_gradient(iso__gradient *g) { bound_gradient(g, false); }
iso_tensor *iso_clamp_tensor(iso_context *ctx, const iso_tensor *x, const iso_tensor *low, const iso_tensor *high) {
  if (!low) return iso_clamp_max(ctx, x, high);
  iso_tensor *y = iso_clamp_min(ctx, x, low);
  return high ? iso__drop(iso_clamp_max(ctx, y, high), y) : y;
}

/* ---- a + w·(b − a) ---- */

iso_tensor *iso_lerp(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, const iso_tensor *w) {
  return compute(ctx, "lerp", ISO__MAP_LERP, ISO__RULE_LERP, 3, ISO__TENSORS(a, b, w), NULL);
}
void iso__lerp_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *a = iso__saved(g, 0), *b = iso__saved(g, 1), *w = iso__saved(g, 2);
  if (iso__needs(g, 0)) chain(g, 0, iso_rsub_scalar(ctx, w, 1));
  if (iso__needs(g, 1)) chain(g, 1, w);
  if (iso__needs(g, 2)) chain(g, 2, iso_sub(ctx, b, a));
}
iso_tensor *iso_lerp_scalar(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double w) {
  return iso__pointwise(ctx, "lerp_scalar", ISO__MAP_LERP_SCALAR, ISO__RULE_LERP_SCALAR, SAVE_NOTHING, ISO__REAL_DTYPES,
                        2, ISO__TENSORS(a, b), (const double[3]){w});
}
void iso__lerp_scalar_gradient(iso__gradient *g) {
  const double w = *(const double *)iso__attrs(g);
  const double shares[2] = {1 - w, w};
  for (int i = 0; i < 2; i++)
    if (iso__needs(g, i))
      g->dx[i] = iso__sum_to(g->ctx, iso_mul_scalar(g->ctx, g->dy[0], shares[i]), iso__input_view(g, i));
}

/* ---- x + value·a·b, x + value·a/b ---- */

iso_tensor *iso_addcmul(iso_context *ctx, const iso_tensor *x, const iso_tensor *a, const iso_tensor *b, double value) {
  return compute(ctx, "addcmul", ISO__MAP_ADDCMUL, ISO__RULE_ADDCMUL, 3, ISO__TENSORS(x, a, b),
                 (const double[3]){value});
}
void iso__addcmul_gradient(iso__gradient *g) {
  const double value = *(const double *)iso__attrs(g);
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(g->ctx, g->dy[0], iso__input_view(g, 0));
  for (int i = 1; i < 3; i++)
    if (iso__needs(g, i)) chain(g, i, iso_mul_scalar(g->ctx, iso__saved(g, 3 - i), value));
}
iso_tensor *iso_addcdiv(iso_context *ctx, const iso_tensor *x, const iso_tensor *a, const iso_tensor *b, double value) {
  return compute(ctx, "addcdiv", ISO__MAP_ADDCDIV, ISO__RULE_ADDCDIV, 3, ISO__TENSORS(x, a, b),
                 (const double[3]){value});
}
void iso__addcdiv_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const double value = *(const double *)iso__attrs(g);
  iso_tensor *a = iso__saved(g, 1), *b = iso__saved(g, 2);
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(ctx, g->dy[0], iso__input_view(g, 0));
  if (iso__needs(g, 1)) chain(g, 1, iso_rdiv_scalar(ctx, b, value));
  if (!iso__needs(g, 2)) return;
  iso_tensor *scaled = iso_mul_scalar(ctx, a, -value);
  chain(g, 2, iso_div(ctx, scaled, iso_square(ctx, b)));
}

/* ---- log(e^a + e^b), log2(2^a + 2^b): da = dy·sigmoid(a − b) ---- */

static void share_gradient(iso__gradient *g, double log_of_base) {
  iso_context *ctx = g->ctx;
  for (int i = 0; i < 2; i++) {
    if (!iso__needs(g, i)) continue;
    iso_tensor *d = iso_sub(ctx, iso__saved(g, i), iso__saved(g, 1 - i));
    chain(g, i, iso_sigmoid(ctx, log_of_base == 1 ? d : iso_mul_scalar(ctx, d, log_of_base)));
  }
}
iso_tensor *iso_logaddexp(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "logaddexp", ISO__MAP_LOGADDEXP, ISO__RULE_LOGADDEXP, 2, ISO__TENSORS(a, b), NULL);
}
void iso__logaddexp_gradient(iso__gradient *g) { share_gradient(g, 1); }
iso_tensor *iso_logaddexp2(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "logaddexp2", ISO__MAP_LOGADDEXP2, ISO__RULE_LOGADDEXP2, 2, ISO__TENSORS(a, b), NULL);
}
void iso__logaddexp2_gradient(iso__gradient *g) { share_gradient(g, ISO__LN2); }

/* ---- x·log(y), x·log(1 + y): 0 where x = 0 ---- */

iso_tensor *iso_xlogy(iso_context *ctx, const iso_tensor *x, const iso_tensor *y) {
  return compute(ctx, "xlogy", ISO__MAP_XLOGY, ISO__RULE_XLOGY, 2, ISO__TENSORS(x, y), NULL);
}
void iso__xlogy_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0), *y = iso__saved(g, 1), *zero = zero_like(g);
  iso_tensor *flat = iso_logical_and(ctx, iso_eq(ctx, x, zero), iso_le(ctx, y, zero));
  if (iso__needs(g, 0)) chain(g, 0, iso_where(ctx, flat, zero, iso_log(ctx, y)));
  if (iso__needs(g, 1)) chain(g, 1, iso_div(ctx, x, y));
}
iso_tensor *iso_xlog1py(iso_context *ctx, const iso_tensor *x, const iso_tensor *y) {
  return compute(ctx, "xlog1py", ISO__MAP_XLOG1PY, ISO__RULE_XLOG1PY, 2, ISO__TENSORS(x, y), NULL);
}
void iso__xlog1py_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0), *y = iso__saved(g, 1), *zero = zero_like(g);
  if (!x || !y) return;
  iso_tensor *flat = iso_logical_and(ctx, iso_eq(ctx, x, zero), iso_le(ctx, y, iso__scalar(ctx, y->view.dtype, -1)));
  if (iso__needs(g, 0)) chain(g, 0, iso_where(ctx, flat, zero, iso_log1p(ctx, y)));
  if (iso__needs(g, 1)) chain(g, 1, iso_div(ctx, x, iso_add_scalar(ctx, y, 1)));
}

/* √(a² + b²): da = dy·a/y */
iso_tensor *iso_hypot(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "hypot", iso_hypot(ctx, a, b), &a, &b);
  const iso_tensor *const in[] = {a, b};
  if (!iso__takes(ctx, "hypot", 2, in) || !iso__takes_dtypes(ctx, "hypot", ISO__REAL_DTYPES, 2, in)) return NULL;
  iso_tensor *y = iso__map(ctx, "hypot", ISO__MAP_HYPOT, 2, in, NULL, NULL);
  return iso__finish(ctx, y, ISO_OK, ISO__RULE_HYPOT,
                     &(iso__finish_options){.inputs = in, .n_inputs = 2, .saved = ISO__TENSORS(a, b, y), .n_saved = 3});
}
void iso__hypot_gradient(iso__gradient *g) {
  for (int i = 0; i < 2; i++)
    if (iso__needs(g, i)) chain(g, i, iso_div(g->ctx, iso__saved(g, i), iso__saved(g, 2)));
}

/* ---- of one variable ---- */

/* log(x/(1 − x)): dx = dy/(x(1 − x)) */
iso_tensor *iso_logit(iso_context *ctx, const iso_tensor *x) {
  return compute(ctx, "logit", ISO__MAP_LOGIT, ISO__RULE_LOGIT, 1, ISO__TENSORS(x), NULL);
}
iso_tensor *iso_logit_clamped(iso_context *ctx, const iso_tensor *x, double eps) {
  iso_tensor *inside = iso_clamp(ctx, x, eps, iso__fenv_sub(1, eps));
  return iso__drop(iso_logit(ctx, inside), inside);
}
void iso__logit_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0);
  g->dx[0] = iso_div(ctx, g->dy[0], iso_mul(ctx, x, iso_rsub_scalar(ctx, x, 1)));
}

/* −x·log(x): dx = dy·(−log(x) − 1) */
iso_tensor *iso_entr(iso_context *ctx, const iso_tensor *x) {
  return compute(ctx, "entr", ISO__MAP_ENTR, ISO__RULE_ENTR, 1, ISO__TENSORS(x), NULL);
}
void iso__entr_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  chain(g, 0, iso_neg(ctx, iso_add_scalar(ctx, iso_log(ctx, iso__saved(g, 0)), 1)));
}

/* sin(πx)/(πx), 1 at 0: dx = dy·(cos(πx) − sinc(x))/x, 0 at 0 */
iso_tensor *iso_sinc(iso_context *ctx, const iso_tensor *x) {
  return compute(ctx, "sinc", ISO__MAP_SINC, ISO__RULE_SINC, 1, ISO__TENSORS(x), NULL);
}
void iso__sinc_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0), *zero = zero_like(g);
  iso_tensor *cosine = iso_cospi(ctx, x), *slope = iso_div(ctx, iso_sub(ctx, cosine, iso_sinc(ctx, x)), x);
  chain(g, 0, iso_where(ctx, iso_eq(ctx, x, zero), zero, slope));
}

iso_tensor *iso_nan_to_num(iso_context *ctx, const iso_tensor *x, double nan, double above, double below) {
  return compute(ctx, "nan_to_num", ISO__MAP_NAN_TO_NUM, ISO__RULE_NAN_TO_NUM, 1, ISO__TENSORS(x),
                 (const double[3]){nan, above, below});
}
void iso__nan_to_num_gradient(iso__gradient *g) {
  g->dx[0] = iso_where(g->ctx, iso_isfinite(g->ctx, iso__saved(g, 0)), g->dy[0], zero_like(g));
}

iso_tensor *iso_deg2rad(iso_context *ctx, const iso_tensor *x) { return iso_mul_scalar(ctx, x, ISO__PI / 180); }
iso_tensor *iso_rad2deg(iso_context *ctx, const iso_tensor *x) { return iso_mul_scalar(ctx, x, 180 / ISO__PI); }

/* In f64, whatever the operands. */
iso_tensor *iso_float_power(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_tensor *x = iso_cast(ctx, a, ISO_F64), *y = iso_cast(ctx, b, ISO_F64);
  return iso__drop(iso__drop(iso_pow(ctx, x, y), x), y);
}
