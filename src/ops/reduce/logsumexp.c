/* logsumexp.c: log Σ exp(x); dx = dy·exp(x − y). */
#include "ops/reduce/reduce.h"

iso_tensor *iso_logsumexp(iso_context *ctx, const iso_tensor *x, int n_axes, const int *axes, bool keep_dims) {
  ISO__AUTOCAST(ctx, "logsumexp", iso_logsumexp(ctx, x, n_axes, axes, keep_dims), &x);
  if (iso__reduce_is_half(ctx, x)) return iso__reduce_half(ctx, iso_logsumexp, x, n_axes, axes, keep_dims);
  iso__axes a;
  if (!iso__takes_floats(ctx, "logsumexp", 1, ISO__TENSORS(x)) ||
      !iso__axes_read(ctx, "logsumexp", x, n_axes, axes, keep_dims, &a))
    return NULL;
  return iso__reduce_finish(ctx, ISO__REDUCE_LOGSUMEXP, ISO__RULE_LOGSUMEXP, x, &a, true, true);
}
void iso__logsumexp_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__axes *axes = iso__attrs(g);
  const iso__view *form = iso__input_view(g, 0);
  iso_tensor *y = iso__reduced_keep(ctx, iso__saved(g, 1), form, axes);
  iso_tensor *part = iso_exp(ctx, iso_sub(ctx, iso__saved(g, 0), y));
  g->dx[0] = iso_mul(ctx, iso__reduced_keep(ctx, g->dy[0], form, axes), part);
}
