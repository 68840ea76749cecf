/* prod.c: products; dx = dy·(product of the others). */
#include "ops/reduce/reduce.h"

iso_tensor *iso_prod(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  ISO__AUTOCAST(ctx, "prod", iso_prod(ctx, x, n_axes, axes, keep_dims), &x);
  if (iso__reduce_is_half(ctx, x)) return iso__reduce_half(ctx, iso_prod, x, n_axes, axes, keep_dims);
  iso__axes a;
  if (!iso__takes_dtypes(ctx, "prod", ISO__FLOAT_DTYPES | ISO__WHOLE_DTYPES, 1, ISO__TENSORS(x)) ||
      !iso__axes_read(ctx, "prod", x, n_axes, axes, keep_dims, &a))
    return NULL;
  return iso__reduce_finish(ctx, ISO__REDUCE_PROD, ISO__RULE_PROD, x, &a, true, false);
}
/* With p the product of the elements that are not zero: p/x without a zero, p at the only zero, else 0. */
void iso__prod_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__axes *axes = iso__attrs(g);
  const iso__view *form = iso__input_view(g, 0);
  int list[ISO_MAX_DIMS];
  const int n = iso__axes_list(axes, form, list);
  iso_tensor *x = iso__saved(g, 0);
  iso_tensor *zero = iso__scalar(ctx, form->dtype, 0), *none = iso__scalar(ctx, ISO_I64, 0);
  iso_tensor *is_zero = iso_eq(ctx, x, zero);
  iso_tensor *n_zeros = iso_sum(ctx, is_zero, n, list, true);
  iso_tensor *filled = iso_masked_fill(ctx, x, is_zero, 1);
  iso_tensor *p = iso_prod(ctx, filled, n, list, true);
  iso_tensor *only = iso_logical_and(ctx, is_zero, iso_eq(ctx, n_zeros, iso__scalar(ctx, ISO_I64, 1)));
  iso_tensor *of_rest = iso_div(ctx, p, filled), *of_single = iso_where(ctx, only, p, zero);
  iso_tensor *others = iso_where(ctx, iso_eq(ctx, n_zeros, none), of_rest, of_single);
  g->dx[0] = iso_mul(ctx, iso__reduced_expand(ctx, g->dy[0], form, axes), others);
}
