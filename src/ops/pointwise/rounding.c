/* rounding.c: to whole numbers, parts of numbers, and what is undone of them. */
#include "ops/pointwise/unary.h"

/* Functions that are constant between jumps: their gradient is zero. */
static iso_tensor *steps(iso_context *ctx, const char *op, iso__map_fn fn, uint32_t dtypes, const iso_tensor *x,
                         const double *scalars) {
  if (!iso__takes_dtypes(ctx, op, dtypes, 1, ISO__TENSORS(x))) return NULL;
  if (!iso_dtype_is_float(x->view.dtype) && fn != ISO__MAP_SIGN) return iso_tensor_alias(ctx, x); /* whole already */
  iso_tensor *y = iso__map(ctx, op, fn, 1, ISO__TENSORS(x), scalars, NULL);
  return iso__finish(ctx, y, ISO_OK, ISO__RULE_STEPS, &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1});
}
void iso__steps_gradient(iso__gradient *g) {
  const iso__view *v = iso__input_view(g, 0);
  g->dx[0] = iso_tensor_zeros(g->ctx, v->dtype, v->n_dims, v->shape);
}

iso_tensor *iso_sign(iso_context *ctx, const iso_tensor *x) {
  return steps(ctx, "sign", ISO__MAP_SIGN, ISO__ALL_DTYPES, x, NULL);
}
iso_tensor *iso_floor(iso_context *ctx, const iso_tensor *x) {
  return steps(ctx, "floor", ISO__MAP_FLOOR, ISO__ALL_DTYPES, x, NULL);
}
iso_tensor *iso_ceil(iso_context *ctx, const iso_tensor *x) {
  return steps(ctx, "ceil", ISO__MAP_CEIL, ISO__ALL_DTYPES, x, NULL);
}
iso_tensor *iso_trunc(iso_context *ctx, const iso_tensor *x) {
  return steps(ctx, "trunc", ISO__MAP_TRUNC, ISO__ALL_DTYPES, x, NULL);
}
iso_tensor *iso_round(iso_context *ctx, const iso_tensor *x) {
  return steps(ctx, "round", ISO__MAP_ROUND, ISO__ALL_DTYPES, x, NULL);
}
iso_tensor *iso_round_decimals(iso_context *ctx, const iso_tensor *x, int decimals) {
  if (decimals == 0) return iso_round(ctx, x);
  if (iso__failed(ctx) || !x) return NULL;
  if (decimals < -300 || decimals > 300) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "round_decimals", "%d decimals: from -300 to 300 are accepted", decimals);
    return NULL;
  }
  const double scalars[3] = {iso_f64_powi(10, decimals < 0 ? -decimals : decimals), decimals < 0};
  return steps(ctx, "round_decimals", ISO__MAP_ROUND_SCALED, ISO__REAL_DTYPES, x, scalars);
}

/* x − trunc(x) */
iso_tensor *iso_frac(iso_context *ctx, const iso_tensor *x) {
  return iso__unary(ctx, "frac", ISO__MAP_FRAC, ISO__RULE_FRAC, SAVE_NOTHING, ISO__REAL_DTYPES, x);
}
void iso__frac_gradient(iso__gradient *g) { g->dx[0] = g->dy[0]; }

/* x = mantissa·2^exponent: dx = dy·2^−exponent */
iso_tensor *iso_frexp(iso_context *ctx, const iso_tensor *x, iso_tensor **exponent) {
  if (exponent) *exponent = NULL;
  iso_tensor *mantissa = iso__unary(ctx, "frexp", ISO__MAP_MANTISSA, ISO__RULE_FREXP, SAVE_X, ISO__REAL_DTYPES, x);
  if (!mantissa || !exponent) return mantissa;
  iso_tensor *real = iso__map(ctx, "frexp", ISO__MAP_EXPONENT, 1, ISO__TENSORS(x), NULL, NULL);
  *exponent = iso__drop(iso_cast(ctx, real, ISO_I32), real);
  if (*exponent) return mantissa;
  iso_release(mantissa);
  return NULL;
}
void iso__frexp_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0);
  if (!x) return;
  iso_tensor *e = iso__map(ctx, "frexp", ISO__MAP_EXPONENT, 1, ISO__TENSORS(x), NULL, NULL);
  g->dx[0] = iso_mul(ctx, g->dy[0], iso_exp2(ctx, iso_neg(ctx, e)));
}

/* x·2^n, 2^n rounded to the dtype first */
iso_tensor *iso_ldexp(iso_context *ctx, const iso_tensor *x, const iso_tensor *n) {
  if (!iso__takes(ctx, "ldexp", 2, ISO__TENSORS(x, n))) return NULL;
  iso_tensor *real = iso_cast(ctx, n, x->view.dtype), *power = iso_exp2(ctx, real);
  return iso__drop(iso__drop(iso_mul(ctx, x, power), power), real);
}

/* Integers are whole, so that their quotients are theirs; bool has none. */
enum { QUOTIENTS = ISO__REAL_DTYPES | ISO__INTEGER_DTYPES };
static iso_tensor *quotient(iso_context *ctx, const char *op, iso__map_fn fn, iso__rule_id rule, const iso_tensor *a,
                            const iso_tensor *b, bool saves) {
  const iso_tensor *const in[] = {a, b};
  if (!iso__takes(ctx, op, 2, in) || !iso__takes_dtypes(ctx, op, QUOTIENTS, 2, in)) return NULL;
  iso_tensor *y = iso__map(ctx, op, fn, 2, in, NULL, NULL);
  return iso__finish(ctx, y, ISO_OK, rule,
                     &(iso__finish_options){.inputs = in, .n_inputs = 2, .saved = in, .n_saved = saves ? 2 : 0});
}
iso_tensor *iso_floor_divide(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return quotient(ctx, "floor_divide", ISO__MAP_FLOOR_DIV, ISO__RULE_STEPS2, a, b, false);
}
iso_tensor *iso_trunc_divide(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return quotient(ctx, "trunc_divide", ISO__MAP_TRUNC_DIV, ISO__RULE_STEPS2, a, b, false);
}
void iso__steps2_gradient(iso__gradient *g) {
  for (int i = 0; i < 2; i++) {
    const iso__view *v = iso__input_view(g, i);
    if (iso__needs(g, i)) g->dx[i] = iso_tensor_zeros(g->ctx, v->dtype, v->n_dims, v->shape);
  }
}

/* a − b·floor(a/b), a − b·trunc(a/b): da = dy, db = −dy·the quotient */
static void rest_gradient(iso__gradient *g,
                          iso_tensor *(*divide)(iso_context *, const iso_tensor *, const iso_tensor *)) {
  iso_context *ctx = g->ctx;
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(ctx, g->dy[0], iso__input_view(g, 0));
  if (!iso__needs(g, 1)) return;
  iso_tensor *q = divide(ctx, iso__saved(g, 0), iso__saved(g, 1));
  g->dx[1] = iso__sum_to(ctx, iso_neg(ctx, iso_mul(ctx, g->dy[0], q)), iso__input_view(g, 1));
}
iso_tensor *iso_remainder(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "remainder", iso_remainder(ctx, a, b), &a, &b);
  return quotient(ctx, "remainder", ISO__MAP_REMAINDER, ISO__RULE_REMAINDER, a, b, true);
}
void iso__remainder_gradient(iso__gradient *g) { rest_gradient(g, iso_floor_divide); }
iso_tensor *iso_fmod(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "fmod", iso_fmod(ctx, a, b), &a, &b);
  return quotient(ctx, "fmod", ISO__MAP_FMOD, ISO__RULE_FMOD, a, b, true);
}
void iso__fmod_gradient(iso__gradient *g) { rest_gradient(g, iso_trunc_divide); }
