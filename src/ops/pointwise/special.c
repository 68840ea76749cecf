/* special.c: log Γ and its derivatives, the inverses of erf and of the normal distribution, Bessel functions I0 and I1.
 */
#include "ops/pointwise/unary.h"

/* ---- log Γ, ψ = (log Γ)′, ψ′, ψ″ ---- */

iso_tensor *iso_lgamma(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "lgamma", ISO__MAP_LGAMMA, ISO__RULE_LGAMMA, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__lgamma_gradient(iso__gradient *g) { iso__chain(g, iso_digamma(g->ctx, iso__saved(g, 0))); }

iso_tensor *iso_digamma(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "digamma", ISO__MAP_DIGAMMA, ISO__RULE_DIGAMMA, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__digamma_gradient(iso__gradient *g) { iso__chain(g, iso_trigamma(g->ctx, iso__saved(g, 0))); }

/* ψ″(y), y ≥ 1: ten terms of the recurrence, −2/(y + k)³, and at z = y + 10 the asymptotic series
 * −1/z² − 1/z³ − Σ B2j·(2j + 1)/z^(2j+2) up to j = 8. */
static iso_tensor *tetragamma_right(iso_context *ctx, const iso_tensor *y) {
  enum { RECURRENCE = 10 };
  static const double series[] = {1.0 / 2, -1.0 / 6,     1.0 / 6,  -3.0 / 10,
                                  5.0 / 6, -691.0 / 210, 35.0 / 2, -3617.0 / 30}; /* B2j·(2j + 1) */
  enum { TERMS = sizeof series / sizeof *series };
  iso_tensor *r = iso_reciprocal(ctx, iso_add_scalar(ctx, y, RECURRENCE)), *h = iso_square(ctx, r);
  iso_tensor *sum = iso_mul_scalar(ctx, h, series[TERMS - 1]);
  for (int i = TERMS - 2; i >= 0; i--) sum = iso_mul(ctx, iso_add_scalar(ctx, sum, series[i]), h);
  sum = iso_mul(ctx, h, iso_add_scalar(ctx, iso_add(ctx, sum, r), 1));
  for (int k = RECURRENCE - 1; k >= 0; k--)
    sum = iso_add(ctx, sum, iso_mul_scalar(ctx, iso_pow_scalar(ctx, iso_add_scalar(ctx, y, k), -3), 2));
  return iso_neg(ctx, sum);
}
/* Reflected for x < 0: ψ″(x) = ψ″(1 − x) − 2π³·cos(πx)/sin³(πx). */
static iso_tensor *tetragamma(iso_context *ctx, const iso_tensor *x) {
  if (!x) return NULL;
  const double two_pi_cubed = 0x1.f019b59389d7cp+5;
  iso_tensor *left = iso_lt(ctx, x, iso__scalar(ctx, x->view.dtype, 0));
  iso_tensor *right = tetragamma_right(ctx, iso_where(ctx, left, iso_rsub_scalar(ctx, x, 1), x));
  iso_tensor *cosine = iso_cospi(ctx, x);
  iso_tensor *turned = iso_mul(ctx, cosine, iso_pow_scalar(ctx, iso_sinpi(ctx, x), -3));
  return iso_where(ctx, left, iso_sub(ctx, right, iso_mul_scalar(ctx, turned, two_pi_cubed)), right);
}
iso_tensor *iso_trigamma(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "trigamma", ISO__MAP_TRIGAMMA, ISO__RULE_TRIGAMMA, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__trigamma_gradient(iso__gradient *g) { iso__chain(g, tetragamma(g->ctx, iso__saved(g, 0))); }

/* ---- quantiles ---- */

iso_tensor *iso_erfinv(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "erfinv", ISO__MAP_ERFINV, ISO__RULE_ERFINV, SAVE_Y, ISO__REAL_DTYPES, x);
}
void iso__erfinv_gradient(iso__gradient *g) { /* √π/2·e^(y²) */
  iso_tensor *rise = iso_exp(g->ctx, iso_square(g->ctx, iso__saved(g, 0)));
  iso__chain(g, iso_mul_scalar(g->ctx, rise, 0x1.c5bf891b4ef6bp-1));
}

iso_tensor *iso_ndtri(iso_context *ctx, const iso_tensor *p) {
  return iso__unary(ctx, "ndtri", ISO__MAP_NDTRI, ISO__RULE_NDTRI, SAVE_Y, ISO__REAL_DTYPES, p);
}
void iso__ndtri_gradient(iso__gradient *g) { /* √2π·e^(y²/2) */
  iso_tensor *rise = iso_exp(g->ctx, iso_mul_scalar(g->ctx, iso_square(g->ctx, iso__saved(g, 0)), 0.5));
  iso__chain(g, iso_mul_scalar(g->ctx, rise, 0x1.40d931ff62706p+1));
}

/* ---- modified Bessel functions; with e: times e^−|x| ---- */

iso_tensor *iso_i0(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "i0", ISO__MAP_I0, ISO__RULE_I0, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__i0_gradient(iso__gradient *g) { iso__chain(g, iso_i1(g->ctx, iso__saved(g, 0))); }

iso_tensor *iso_i0e(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "i0e", ISO__MAP_I0E, ISO__RULE_I0E, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__i0e_gradient(iso__gradient *g) { /* I1e − sign(x)·I0e */
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0);
  iso_tensor *odd = iso_i1e(ctx, x), *sign = iso_sign(ctx, x);
  iso__chain(g, iso_sub(ctx, odd, iso_mul(ctx, sign, iso_i0e(ctx, x))));
}

/* odd(x)/x of I1 or I1e, whose limit at 0 is ½; no 0/0 on the way, so that its own derivative at 0 is a number. */
static iso_tensor *over_x(iso_context *ctx, const iso_tensor *odd, const iso_tensor *x) {
  if (!x) return NULL;
  const iso_dtype dtype = x->view.dtype;
  iso_tensor *is_zero = iso_eq(ctx, x, iso__scalar(ctx, dtype, 0));
  iso_tensor *quotient = iso_div(ctx, odd, iso_where(ctx, is_zero, iso__scalar(ctx, dtype, 1), x));
  return iso_where(ctx, is_zero, iso__scalar(ctx, dtype, 0.5), quotient);
}
iso_tensor *iso_i1(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "i1", ISO__MAP_I1, ISO__RULE_I1, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__i1_gradient(iso__gradient *g) { /* I0 − I1/x */
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0);
  iso_tensor *even = iso_i0(ctx, x);
  iso__chain(g, iso_sub(ctx, even, over_x(ctx, iso_i1(ctx, x), x)));
}

iso_tensor *iso_i1e(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "i1e", ISO__MAP_I1E, ISO__RULE_I1E, SAVE_X, ISO__REAL_DTYPES, x);
}
void iso__i1e_gradient(iso__gradient *g) { /* I0e − I1e/x − sign(x)·I1e */
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0), *y = iso_i1e(ctx, x), *even = iso_i0e(ctx, x);
  iso_tensor *slope = iso_sub(ctx, even, over_x(ctx, y, x));
  iso__chain(g, iso_sub(ctx, slope, iso_mul(ctx, iso_sign(ctx, x), y)));
}
