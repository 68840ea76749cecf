/* binary.c: pointwise operators of two broadcast operands, comparisons and where. */
#include "ops/ops.h"

static iso_tensor *compute(iso_context *ctx, const char *op, iso__map_fn fn, const iso_tensor *a, const iso_tensor *b) {
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(a, b)) || !iso__takes_floats(ctx, op, 2, ISO__TENSORS(a, b))) return NULL;
  return iso__map(ctx, op, fn, 2, ISO__TENSORS(a, b), NULL, NULL);
}

static iso_tensor *finish(iso_context *ctx, iso_tensor *y, iso__rule_id rule, const iso_tensor *a, const iso_tensor *b,
                          int n_saved, const iso_tensor *const *saved) {
  return iso__finish(
      ctx, y, ISO_OK, rule,
      &(iso__finish_options){.inputs = ISO__TENSORS(a, b), .n_inputs = 2, .saved = saved, .n_saved = n_saved});
}

iso_tensor *iso_add(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return finish(ctx, compute(ctx, "add", ISO__MAP_ADD, a, b), ISO__RULE_ADD, a, b, 0, NULL);
}
void iso__add_gradient(iso__gradient *g) {
  for (int i = 0; i < 2; i++)
    if (iso__needs(g, i)) g->dx[i] = iso__sum_to(g->ctx, g->dy[0], iso__input_view(g, i));
}

iso_tensor *iso_sub(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return finish(ctx, compute(ctx, "sub", ISO__MAP_SUB, a, b), ISO__RULE_SUB, a, b, 0, NULL);
}
void iso__sub_gradient(iso__gradient *g) {
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(g->ctx, g->dy[0], iso__input_view(g, 0));
  if (iso__needs(g, 1)) g->dx[1] = iso_neg(g->ctx, iso__sum_to(g->ctx, g->dy[0], iso__input_view(g, 1)));
}

iso_tensor *iso_mul(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_tensor *y = compute(ctx, "mul", ISO__MAP_MUL, a, b);
  if (!y) return NULL;
  return finish(ctx, y, ISO__RULE_MUL, a, b, 2,
                ISO__TENSORS(iso__saves_for(b) ? a : NULL, iso__saves_for(a) ? b : NULL));
}
void iso__mul_gradient(iso__gradient *g) {
  for (int i = 0; i < 2; i++)
    if (iso__needs(g, i))
      g->dx[i] = iso__sum_to(g->ctx, iso_mul(g->ctx, g->dy[0], iso__saved(g, 1 - i)), iso__input_view(g, i));
}

/* y = a/b: da = dy/b, db = −(dy·y)/b */
iso_tensor *iso_div(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_tensor *y = compute(ctx, "div", ISO__MAP_DIV, a, b);
  return finish(ctx, y, ISO__RULE_DIV, a, b, 2, ISO__TENSORS(b, iso__saves_for(b) ? y : NULL));
}
void iso__div_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *b = iso__saved(g, 0);
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(ctx, iso_div(ctx, g->dy[0], b), iso__input_view(g, 0));
  if (iso__needs(g, 1)) {
    iso_tensor *db = iso_neg(ctx, iso_div(ctx, iso_mul(ctx, g->dy[0], iso__saved(g, 1)), b));
    g->dx[1] = iso__sum_to(ctx, db, iso__input_view(g, 1));
  }
}

/* y = a^b: da = dy·(b·a^(b−1)), 0 where b = 0; db = dy·(y·log a), 0 where a = 0 and b ≥ 0 (the limit). */
iso_tensor *iso_pow(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_tensor *y = compute(ctx, "pow", ISO__MAP_POW, a, b);
  return finish(ctx, y, ISO__RULE_POW, a, b, 3, ISO__TENSORS(a, b, iso__saves_for(b) ? y : NULL));
}
void iso__pow_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *a = iso__saved(g, 0), *b = iso__saved(g, 1);
  if (!a || !b) return;
  iso_tensor *zero = iso__scalar(ctx, a->view.dtype, 0);
  if (iso__needs(g, 0)) {
    iso_tensor *slope = iso_mul(ctx, b, iso_pow(ctx, a, iso_add_scalar(ctx, b, -1)));
    slope = iso_where(ctx, iso_eq(ctx, b, zero), zero, slope);
    g->dx[0] = iso__sum_to(ctx, iso_mul(ctx, g->dy[0], slope), iso__input_view(g, 0));
  }
  if (iso__needs(g, 1)) {
    iso_tensor *flat = iso_mul(ctx, iso_eq(ctx, a, zero), iso_ge(ctx, b, zero));
    iso_tensor *slope = iso_where(ctx, flat, zero, iso_mul(ctx, iso__saved(g, 2), iso_log(ctx, a)));
    g->dx[1] = iso__sum_to(ctx, iso_mul(ctx, g->dy[0], slope), iso__input_view(g, 1));
  }
}

/* ---- the larger, the smaller: the whole gradient to the chosen one, halves where they are equal ---- */

iso_tensor *iso_maximum(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_tensor *y = compute(ctx, "maximum", ISO__MAP_MAXIMUM, a, b);
  return finish(ctx, y, ISO__RULE_MAXIMUM, a, b, 2, ISO__TENSORS(a, b));
}
iso_tensor *iso_minimum(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_tensor *y = compute(ctx, "minimum", ISO__MAP_MINIMUM, a, b);
  return finish(ctx, y, ISO__RULE_MINIMUM, a, b, 2, ISO__TENSORS(a, b));
}
/* a's share where a is chosen if it is above (maximum) or below (minimum) b. */
static void choice_gradient(iso__gradient *g, bool above) {
  iso_context *ctx = g->ctx;
  iso_tensor *a = iso__saved(g, 0), *b = iso__saved(g, 1);
  iso_tensor *half = iso_mul_scalar(ctx, iso_eq(ctx, a, b), 0.5);
  for (int i = 0; i < 2; i++) {
    if (!iso__needs(g, i)) continue;
    iso_tensor *chosen = (i == 0) == above ? iso_gt(ctx, a, b) : iso_lt(ctx, a, b);
    iso_tensor *dx = iso_mul(ctx, g->dy[0], iso_add(ctx, chosen, half));
    g->dx[i] = iso__sum_to(ctx, dx, iso__input_view(g, i));
  }
}
void iso__maximum_gradient(iso__gradient *g) { choice_gradient(g, true); }
void iso__minimum_gradient(iso__gradient *g) { choice_gradient(g, false); }

iso_tensor *iso_add_relu(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_tensor *y = compute(ctx, "add_relu", ISO__MAP_ADD_RELU, a, b);
  return finish(ctx, y, ISO__RULE_ADD_RELU, a, b, 1, ISO__TENSORS(y));
}
void iso__add_relu_gradient(iso__gradient *g) {
  iso_tensor *dz = iso__relu_bwd(g->ctx, iso__saved(g, 0), g->dy[0], iso__reusable_dy(g));
  for (int i = 0; i < 2; i++)
    if (iso__needs(g, i)) g->dx[i] = iso__sum_to(g->ctx, dz, iso__input_view(g, i));
}

/* ---- comparisons: no gradient ---- */

iso_tensor *iso_eq(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "eq", ISO__MAP_EQ, a, b);
}
iso_tensor *iso_lt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "lt", ISO__MAP_LT, a, b);
}
iso_tensor *iso_le(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "le", ISO__MAP_LE, a, b);
}
iso_tensor *iso_gt(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "gt", ISO__MAP_LT, b, a);
}
iso_tensor *iso_ge(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return compute(ctx, "ge", ISO__MAP_LE, b, a);
}
iso_tensor *iso_ne(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_tensor *equal = compute(ctx, "ne", ISO__MAP_EQ, a, b);
  return equal ? iso__map(ctx, "ne", ISO__MAP_RSUB_SCALAR, 1, ISO__TENSORS(equal), (const double[]){1}, equal) : NULL;
}

/* ---- where ---- */

iso_tensor *iso_where(iso_context *ctx, const iso_tensor *condition, const iso_tensor *a, const iso_tensor *b) {
  const iso_tensor *const in[] = {condition, a, b};
  if (!iso__takes(ctx, "where", 3, in) || !iso__takes_floats(ctx, "where", 3, in)) return NULL;
  iso_tensor *y = iso__map(ctx, "where", ISO__MAP_WHERE, 3, in, NULL, NULL);
  return finish(ctx, y, ISO__RULE_WHERE, a, b, 1, ISO__TENSORS(condition));
}
void iso__where_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *condition = iso__saved(g, 0), *zero = iso__scalar(ctx, g->dy[0]->view.dtype, 0);
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(ctx, iso_where(ctx, condition, g->dy[0], zero), iso__input_view(g, 0));
  if (iso__needs(g, 1)) g->dx[1] = iso__sum_to(ctx, iso_where(ctx, condition, zero, g->dy[0]), iso__input_view(g, 1));
}
