/* focal.c: the focal loss, in pointwise operators. */
#include "ops/loss/loss.h"

/* p·t + (1 − p)·(1 − t) */
static iso_tensor *by_target(iso_context *ctx, const iso_tensor *p, const iso_tensor *t) {
  iso_tensor *not_t = iso_rsub_scalar(ctx, t, 1), *not_p = iso_rsub_scalar(ctx, p, 1);
  iso_tensor *a = iso_mul(ctx, p, t), *b = iso_mul(ctx, not_p, not_t);
  return iso_add(ctx, a, b);
}

iso_tensor *iso_sigmoid_focal_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, double alpha,
                                   double gamma, const iso_loss_options *options) {
  if (!iso__takes(ctx, "sigmoid_focal_loss", 2, ISO__TENSORS(x, target)) ||
      !iso__takes_floats(ctx, "sigmoid_focal_loss", 2, ISO__TENSORS(x, target)) ||
      !iso__loss_shapes(ctx, "sigmoid_focal_loss", x, target, "target"))
    return NULL;
  const iso_loss_options each = {.reduction = ISO_REDUCTION_NONE};
  iso__enter(ctx);
  iso_tensor *ce = iso_binary_cross_entropy_with_logits(ctx, x, target, NULL, &each), *p = iso_sigmoid(ctx, x);
  iso_tensor *focus = iso_pow_scalar(ctx, iso_rsub_scalar(ctx, by_target(ctx, p, target), 1), gamma);
  iso_tensor *loss = iso_mul(ctx, ce, focus);
  if (alpha >= 0) loss = iso_mul(ctx, by_target(ctx, iso__scalar(ctx, x->view.dtype, alpha), target), loss);
  return iso__leave(ctx, iso__loss_reduce(ctx, loss, options));
}
