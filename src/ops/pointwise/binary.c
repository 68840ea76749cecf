/* binary.c: arithmetic of two broadcast operands. */
#include "ops/ops.h"

static iso_tensor *compute_in(iso_context *ctx, const char *op, iso__map_fn fn, uint32_t dtypes, const iso_tensor *a,
                              const iso_tensor *b) {
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(a, b)) || !iso__takes_dtypes(ctx, op, dtypes, 2, ISO__TENSORS(a, b)))
    return NULL;
  return iso__map(ctx, op, fn, 2, ISO__TENSORS(a, b), NULL, NULL);
}

static iso_tensor *compute(iso_context *ctx, const char *op, iso__map_fn fn, const iso_tensor *a, const iso_tensor *b) {
  return compute_in(ctx, op, fn, ISO__ALL_DTYPES, a, b);
}

static iso_tensor *finish(iso_context *ctx, iso_tensor *y, iso__rule_id rule, const iso_tensor *a, const iso_tensor *b,
                          int n_saved, const iso_tensor *const *saved) {
  return iso__finish(
      ctx, y, ISO_OK, rule,
      &(iso__finish_options){.inputs = ISO__TENSORS(a, b), .n_inputs = 2, .saved = saved, .n_saved = n_saved});
}

iso_tensor *iso_add(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "add", iso_add(ctx, a, b), &a, &b);
  return finish(ctx, compute(ctx, "add", ISO__MAP_ADD, a, b), ISO__RULE_ADD, a, b, 0, NULL);
}
void iso__add_gradient(iso__gradient *g) {
  for (int i = 0; i < 2; i++)
    if (iso__needs(g, i)) g->dx[i] = iso__sum_to(g->ctx, g->dy[0], iso__input_view(g, i));
}

iso_tensor *iso_sub(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "sub", iso_sub(ctx, a, b), &a, &b);
  return finish(ctx, compute(ctx, "sub", ISO__MAP_SUB, a, b), ISO__RULE_SUB, a, b, 0, NULL);
}
void iso__sub_gradient(iso__gradient *g) {
  if (iso__needs(g, 0)) g->dx[0] = iso__sum_to(g->ctx, g->dy[0], iso__input_view(g, 0));
  if (iso__needs(g, 1)) g->dx[1] = iso_neg(g->ctx, iso__sum_to(g->ctx, g->dy[0], iso__input_view(g, 1)));
}

iso_tensor *iso_mul(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "mul", iso_mul(ctx, a, b), &a, &b);
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
  ISO__AUTOCAST(ctx, "div", iso_div(ctx, a, b), &a, &b);
  iso_tensor *y = compute_in(ctx, "div", ISO__MAP_DIV, ISO__REAL_DTYPES, a, b);
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
  ISO__AUTOCAST(ctx, "pow", iso_pow(ctx, a, b), &a, &b);
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
    iso_tensor *flat = iso_logical_and(ctx, iso_eq(ctx, a, zero), iso_ge(ctx, b, zero));
    iso_tensor *slope = iso_where(ctx, flat, zero, iso_mul(ctx, iso__saved(g, 2), iso_log(ctx, a)));
    g->dx[1] = iso__sum_to(ctx, iso_mul(ctx, g->dy[0], slope), iso__input_view(g, 1));
  }
}

/* ---- the larger, the smaller: the whole gradient to the chosen one, halves where they are equal ---- */

iso_tensor *iso_maximum(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "maximum", iso_maximum(ctx, a, b), &a, &b);
  iso_tensor *y = compute(ctx, "maximum", ISO__MAP_MAXIMUM, a, b);
  return finish(ctx, y, ISO__RULE_MAXIMUM, a, b, 2, ISO__TENSORS(a, b));
}
iso_tensor *iso_minimum(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "minimum", iso_minimum(ctx, a, b), &a, &b);
  iso_tensor *y = compute(ctx, "minimum", ISO__MAP_MINIMUM, a, b);
  return finish(ctx, y, ISO__RULE_MINIMUM, a, b, 2, ISO__TENSORS(a, b));
}
/* a's share where a is chosen if it is above (maximum) or below (minimum) b. */
static void choice_gradient(iso__gradient *g, bool above) {
  iso_context *ctx = g->ctx;
  iso_tensor *a = iso__saved(g, 0), *b = iso__saved(g, 1), *dy = g->dy[0];
  iso_tensor *half = iso_mul_scalar(ctx, dy, 0.5);
  iso_tensor *shared = iso_where(ctx, iso_eq(ctx, a, b), half, iso__scalar(ctx, dy->view.dtype, 0));
  for (int i = 0; i < 2; i++) {
    if (!iso__needs(g, i)) continue;
    iso_tensor *chosen = (i == 0) == above ? iso_gt(ctx, a, b) : iso_lt(ctx, a, b);
    g->dx[i] = iso__sum_to(ctx, iso_where(ctx, chosen, dy, shared), iso__input_view(g, i));
  }
}
void iso__maximum_gradient(iso__gradient *g) { choice_gradient(g, true); }
void iso__minimum_gradient(iso__gradient *g) { choice_gradient(g, false); }

iso_tensor *iso_add_relu(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "add_relu", iso_add_relu(ctx, a, b), &a, &b);
  iso_tensor *y = compute(ctx, "add_relu", ISO__MAP_ADD_RELU, a, b);
  return finish(ctx, y, ISO__RULE_ADD_RELU, a, b, 1, ISO__TENSORS(y));
}
void iso__add_relu_gradient(iso__gradient *g) {
  iso_tensor *dz = iso__relu_bwd(g->ctx, iso__saved(g, 0), g->dy[0], iso__reusable_dy(g));
  for (int i = 0; i < 2; i++)
    if (iso__needs(g, i)) g->dx[i] = iso__sum_to(g->ctx, dz, iso__input_view(g, i));
}
