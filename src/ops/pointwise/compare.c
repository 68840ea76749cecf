/* compare.c: comparisons, predicates and logic, whose results are bool; and what chooses by them. */
#include "ops/ops.h"

static iso_tensor *compare(iso_context *ctx, const char *op, iso__map_fn fn, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, op, compare(ctx, op, fn, a, b), &a, &b);
  const iso_tensor *const in[] = {a, b};
  if (!iso__takes(ctx, op, 2, in) || !iso__takes_dtypes(ctx, op, ISO__ALL_DTYPES, 2, in)) return NULL;
  return iso__map(ctx, op, fn, 2, in, NULL, NULL);
}
iso_tensor *iso_eq(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compare(ctx, "eq", ISO__MAP_EQ, a, b);
}
iso_tensor *iso_ne(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compare(ctx, "ne", ISO__MAP_NE, a, b);
}
iso_tensor *iso_lt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compare(ctx, "lt", ISO__MAP_LT, a, b);
}
iso_tensor *iso_le(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compare(ctx, "le", ISO__MAP_LE, a, b);
}
iso_tensor *iso_gt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compare(ctx, "gt", ISO__MAP_LT, b, a);
}
iso_tensor *iso_ge(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compare(ctx, "ge", ISO__MAP_LE, b, a);
}

/* ---- predicates ---- */

static iso_tensor *predicate(iso_context *ctx, const char *op, iso__map_fn fn, const iso_tensor *x) {
  if (!iso__takes(ctx, op, 1, ISO__TENSORS(x))) return NULL;
  return iso__map(ctx, op, fn, 1, ISO__TENSORS(x), NULL, NULL);
}
iso_tensor *iso_isnan(iso_context *ctx, const iso_tensor *x) { return predicate(ctx, "isnan", ISO__MAP_ISNAN, x); }
iso_tensor *iso_isinf(iso_context *ctx, const iso_tensor *x) { return predicate(ctx, "isinf", ISO__MAP_ISINF, x); }
iso_tensor *iso_isfinite(iso_context *ctx, const iso_tensor *x) {
  return predicate(ctx, "isfinite", ISO__MAP_ISFINITE, x);
}

iso_tensor *iso_signbit(iso_context *ctx, const iso_tensor *x) {
  return predicate(ctx, "signbit", ISO__MAP_SIGNBIT, x);
}
iso_tensor *iso_isposinf(iso_context *ctx, const iso_tensor *x) {
  return predicate(ctx, "isposinf", ISO__MAP_ISPOSINF, x);
}
iso_tensor *iso_isneginf(iso_context *ctx, const iso_tensor *x) {
  return predicate(ctx, "isneginf", ISO__MAP_ISNEGINF, x);
}

/* ---- closeness ---- */

iso_tensor *iso_isclose(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double relative, double absolute,
                        bool equal_nan) {
  ISO__AUTOCAST(ctx, "isclose", iso_isclose(ctx, a, b, relative, absolute, equal_nan), &a, &b);
  const iso_tensor *const in[] = {a, b};
  if (!iso__takes(ctx, "isclose", 2, in) || !iso__takes_dtypes(ctx, "isclose", ISO__ALL_DTYPES, 2, in)) return NULL;
  if (!(relative >= 0 && absolute >= 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "isclose", "tolerances %g and %g must be at least 0", relative, absolute);
    return NULL;
  }
  const double scalars[3] = {relative, absolute, equal_nan};
  if (iso_dtype_is_float(a->view.dtype)) return iso__map(ctx, "isclose", ISO__MAP_ISCLOSE, 2, in, scalars, NULL);
  if (relative == 0 && absolute == 0) return iso__map(ctx, "isclose", ISO__MAP_EQ, 2, in, NULL, NULL);
  iso_tensor *p = iso_cast(ctx, a, ISO_F64), *q = iso_cast(ctx, b, ISO_F64);
  iso_tensor *y = p && q ? iso__map(ctx, "isclose", ISO__MAP_ISCLOSE, 2, ISO__TENSORS(p, q), scalars, NULL) : NULL;
  return iso__drop(iso__drop(y, p), q);
}

/* Whether every element of a fresh tensor of truths is true; ends it. */
static iso_status all_true(iso_context *ctx, iso_tensor *truths, bool *out) {
  if (!truths) return iso__refusal(ctx);
  const uint8_t *p = iso__data(truths);
  const int64_t n = iso__view_numel(&truths->view);
  *out = !(n && memchr(p, 0, (size_t)n));
  iso_release(truths);
  return ISO_OK;
}
iso_status iso_allclose(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double relative, double absolute,
                        bool equal_nan, bool *out) {
  if (!out) return ISO_INVALID_ARGUMENT;
  return all_true(ctx, iso_isclose(ctx, a, b, relative, absolute, equal_nan), out);
}
iso_status iso_equal(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, bool *out) {
  if (!out) return ISO_INVALID_ARGUMENT;
  if (!iso__takes(ctx, "equal", 2, ISO__TENSORS(a, b))) return iso__refusal(ctx);
  if (!iso__same_shape(&a->view, &b->view)) return *out = false, ISO_OK;
  return all_true(ctx, iso_eq(ctx, a, b), out);
}

/* ---- logic: of bool, or of numbers that are true where they are not 0 ---- */

/* The truth of t: t itself if it is bool. */
static iso_tensor *truth(iso_context *ctx, const char *op, const iso_tensor *t) {
  if (!iso__takes(ctx, op, 1, ISO__TENSORS(t))) return NULL;
  if (t->view.dtype == ISO_BOOL) return iso_tensor_alias(ctx, t);
  return iso__map(ctx, op, ISO__MAP_NONZERO, 1, ISO__TENSORS(t), NULL, NULL);
}
static iso_tensor *logic(iso_context *ctx, const char *op, iso__map_fn fn, const iso_tensor *a, const iso_tensor *b) {
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(a, b))) return NULL;
  if (a->view.dtype == b->view.dtype) return compare(ctx, op, fn, a, b);
  iso_tensor *p = truth(ctx, op, a), *q = truth(ctx, op, b);
  return iso__drop(iso__drop(compare(ctx, op, fn, p, q), p), q);
}
iso_tensor *iso_logical_and(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return logic(ctx, "logical_and", ISO__MAP_LOGICAL_AND, a, b);
}
iso_tensor *iso_logical_or(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return logic(ctx, "logical_or", ISO__MAP_LOGICAL_OR, a, b);
}
iso_tensor *iso_logical_xor(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return logic(ctx, "logical_xor", ISO__MAP_LOGICAL_XOR, a, b);
}
iso_tensor *iso_logical_not(iso_context *ctx, const iso_tensor *x) {
  return predicate(ctx, "logical_not", ISO__MAP_LOGICAL_NOT, x);
}

/* ---- where ---- */

iso_tensor *iso_where(iso_context *ctx, const iso_tensor *condition, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "where", iso_where(ctx, condition, a, b), &condition, &a, &b);
  if (!iso__takes(ctx, "where", 3, ISO__TENSORS(condition, a, b)) ||
      !iso__takes_dtypes(ctx, "where", ISO__ALL_DTYPES, 2, ISO__TENSORS(a, b)))
    return NULL;
  iso_tensor *is_true = truth(ctx, "where", condition);
  if (!is_true) return NULL;
  iso_tensor *y = iso__map(ctx, "where", ISO__MAP_WHERE, 3, ISO__TENSORS(is_true, a, b), NULL, NULL);
  y = iso__finish(ctx, y, ISO_OK, ISO__RULE_WHERE,
                  &(iso__finish_options){
                      .inputs = ISO__TENSORS(a, b), .n_inputs = 2, .saved = ISO__TENSORS(is_true), .n_saved = 1});
  return iso__drop(y, is_true);
}
void iso__where_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *condition = iso__saved(g, 0), *zero = iso__scalar(ctx, g->dy[0]->view.dtype, 0);
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(ctx, iso_where(ctx, condition, g->dy[0], zero), iso__input_view(g, 0));
  if (iso__needs(g, 1)) g->dx[1] = iso__sum_to(ctx, iso_where(ctx, condition, zero, g->dy[0]), iso__input_view(g, 1));
}

iso_tensor *iso_masked_fill(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask, double value) {
  if (!iso__takes(ctx, "masked_fill", 2, ISO__TENSORS(x, mask))) return NULL;
  iso_tensor *fill = iso__scalar(ctx, x->view.dtype, value);
  return iso__drop(iso_where(ctx, mask, fill, x), fill);
}
