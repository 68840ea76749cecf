/* focal.c: the focal loss, in pointwise operators. */
#include "ops/loss/loss.h"

/* p·t + (1 − p)·(1 − t) */
static iso_tensor *by_target(iso_context *ctx, const iso_tensor *p, const iso_tensor *t) {
  iso_tensor *not_t = iso_rsub_scalar(ctx, t, 1), *not_p = iso_rsub_scalar(ctx, p, 1);
  iso_tensor *a = iso_mul(ctx, p, t), *b = iso_mul(ctx, not_p, not_t), *y = iso_add(ctx, a, b);
  iso_release(not_t), iso_release(not_p), iso_release(a), iso_release(b);
  return y;
}
/* α·t + (1 − α)·(1 − t) */
static iso_tensor *balance(iso_context *ctx, const iso_tensor *t, double alpha) {
  iso_tensor *a = iso__scalar(ctx, t->view.dtype, alpha);
  return iso__drop(by_target(ctx, a, t), a);
}

iso_tensor *iso_sigmoid_focal_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, double alpha,
                                   double gamma, const iso_loss_options *options) {
  if (!iso__takes(ctx, "sigmoid_focal_loss", 2, ISO__TENSORS(x, target)) ||
      !iso__takes_floats(ctx, "sigmoid_focal_loss", 2, ISO__TENSORS(x, target)) ||
      !iso__loss_shapes(ctx, "sigmoid_focal_loss", x, target, "target"))
    return NULL;
  const iso_loss_options each = {.reduction = ISO_REDUCTION_NONE};
  iso_tensor *ce = iso_binary_cross_entropy_with_logits(ctx, x, target, NULL, &each), *p = iso_sigmoid(ctx, x);
  iso_tensor *p_t = by_target(ctx, p, target), *miss = iso_rsub_scalar(ctx, p_t, 1);
  iso_tensor *focus = iso_pow_scalar(ctx, miss, gamma), *loss = iso_mul(ctx, ce, focus);
  if (loss && alpha >= 0) {
    iso_tensor *share = balance(ctx, target, alpha), *balanced = iso_mul(ctx, share, loss);
    iso_release(share), iso_release(loss);
    loss = balanced;
  }
  iso_release(ce), iso_release(p), iso_release(p_t), iso_release(miss), iso_release(focus);
  return loss ? iso__drop(iso__loss_reduce(ctx, loss, options), loss) : NULL;
}
