/* reduction.c: from the losses of elements to a loss: weight, then lanes over all of them and one division. */
#include "ops/loss/loss.h"

bool iso__loss_shapes(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *target,
                      const char *target_name) {
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(x)) || !iso__takes(ctx, op, 1, ISO__TENSORS(target))) return false;
  char tx[128], tt[128];
  if (target->view.dtype != x->view.dtype) {
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "x is %s but %s is %s", iso_dtype_name(x->view.dtype), target_name,
              iso_dtype_name(target->view.dtype));
    return false;
  }
  if (iso__same_shape(&x->view, &target->view)) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x is %s but %s is %s",
            iso__shape_text(x->view.n_dims, x->view.shape, tx, sizeof tx), target_name,
            iso__shape_text(target->view.n_dims, target->view.shape, tt, sizeof tt));
  return false;
}

iso_tensor *iso__loss_reduce(iso_context *ctx, const iso_tensor *losses, const iso_loss_options *o) {
  if (!losses) return NULL;
  const iso_loss_options none = {0};
  if (!o) o = &none;
  iso_tensor *weighted = o->weight ? iso_mul(ctx, losses, o->weight) : NULL, *y;
  if (o->weight && !weighted) return NULL;
  const iso_tensor *x = weighted ? weighted : losses;
  if (o->reduction == ISO_REDUCTION_NONE) y = iso_tensor_alias(ctx, x);
  else if (o->reduction == ISO_REDUCTION_SUM) y = iso_sum_all(ctx, x);
  else if (o->count == 0) y = iso_mean_all(ctx, x);
  else y = iso_sum_all(ctx, x), y = y ? iso__drop(iso_div_scalar(ctx, y, o->count), y) : NULL;
  return iso__drop(y, weighted);
}
