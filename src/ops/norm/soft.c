/* soft.c: what is made of softmax: of −x, of the present elements, of x with Gumbel noise. Written in operators. */
#include <math.h>
#include "ops/ops.h"

iso_tensor *iso_softmin(iso_context *ctx, const iso_tensor *x, int axis) {
  ISO__AUTOCAST(ctx, "softmin", iso_softmin(ctx, x, axis), &x);
  if (!iso__takes_floats(ctx, "softmin", 1, ISO__TENSORS(x))) return NULL;
  iso__enter(ctx);
  return iso__leave(ctx, iso_softmax(ctx, iso_neg(ctx, x), axis));
}

/* x, or −infinity where the mask is false: such an element's exp is +0, which changes no sum and has no gradient. */
static iso_tensor *present(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *mask) {
  if (mask->view.dtype != ISO_BOOL) {
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "mask is %s: bool is needed", iso_dtype_name(mask->view.dtype));
    return NULL;
  }
  iso_tensor *wide = iso_expand(ctx, mask, x->view.n_dims, x->view.shape);
  return iso_where(ctx, wide, x, iso__scalar(ctx, x->view.dtype, -INFINITY));
}

iso_tensor *iso_masked_softmax(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask, int axis) {
  ISO__AUTOCAST(ctx, "masked_softmax", iso_masked_softmax(ctx, x, mask, axis), &x, &mask);
  if (!iso__takes(ctx, "masked_softmax", 2, ISO__TENSORS(x, mask)) ||
      !iso__takes_floats(ctx, "masked_softmax", 1, ISO__TENSORS(x)))
    return NULL;
  iso__enter(ctx);
  return iso__leave(ctx, iso_softmax(ctx, present(ctx, "masked_softmax", x, mask), axis));
}
iso_tensor *iso_masked_log_softmax(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask, int axis) {
  ISO__AUTOCAST(ctx, "masked_log_softmax", iso_masked_log_softmax(ctx, x, mask, axis), &x, &mask);
  if (!iso__takes(ctx, "masked_log_softmax", 2, ISO__TENSORS(x, mask)) ||
      !iso__takes_floats(ctx, "masked_log_softmax", 1, ISO__TENSORS(x)))
    return NULL;
  iso__enter(ctx);
  return iso__leave(ctx, iso_log_softmax(ctx, present(ctx, "masked_log_softmax", x, mask), axis));
}

/* One at the largest of each row along the axis (the lowest of equals), else zero. */
static iso_tensor *largest(iso_context *ctx, const iso_tensor *y, int axis) {
  iso_tensor *index = iso_argmax(ctx, y, axis, true);
  iso_tensor *place = iso_arange(ctx, ISO_I64, 0, (double)y->view.shape[axis], 1);
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < y->view.n_dims; d++) shape[d] = d == axis ? y->view.shape[d] : 1;
  return iso_cast(ctx, iso_eq(ctx, index, iso_reshape(ctx, place, y->view.n_dims, shape)), y->view.dtype);
}

iso_tensor *iso_gumbel_softmax(iso_context *ctx, const iso_tensor *x, double tau, bool hard, int axis) {
  ISO__AUTOCAST(ctx, "gumbel_softmax", iso_gumbel_softmax(ctx, x, tau, hard, axis), &x);
  if (!iso__takes_floats(ctx, "gumbel_softmax", 1, ISO__TENSORS(x))) return NULL;
  if (!(tau > 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "gumbel_softmax", "tau is %g: more than 0 is needed", tau);
    return NULL;
  }
  if ((axis = iso__axis(ctx, "gumbel_softmax", x, axis)) < 0) return NULL;
  iso__enter(ctx);
  /* u from 2^−25 to below 1: both logarithms are finite. */
  iso_tensor *u = iso_random_uniform(ctx, x->view.dtype, x->view.n_dims, x->view.shape, 0x1p-25, 1);
  iso_tensor *noise = iso_neg(ctx, iso_log(ctx, iso_neg(ctx, iso_log(ctx, u))));
  iso_tensor *y = iso_softmax(ctx, iso_div_scalar(ctx, iso_add(ctx, x, noise), tau), axis);
  if (!hard || !y) return iso__leave(ctx, y);
  iso_tensor *soft = iso_detach(ctx, y);
  return iso__leave(ctx, iso_add(ctx, iso_sub(ctx, largest(ctx, soft, axis), soft), y));
}
