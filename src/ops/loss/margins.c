/* margins.c: margins between the scores of a sample's classes, written in operators. */
#include "ops/loss/loss.h"

static bool check_dims(iso_context *ctx, const char *op, const iso_tensor *x) {
  char text[128];
  if (x->view.n_dims <= 2) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x is %s: (N,classes) or (classes) is needed",
            iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text));
  return false;
}

iso_tensor *iso_multi_margin_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target, double margin,
                                  const iso_multi_margin_options *options) {
  ISO__AUTOCAST(ctx, "multi_margin_loss", iso_multi_margin_loss(ctx, x, target, margin, options), &x, &target);
  const iso_multi_margin_options none = {0}, *o = options ? options : &none;
  iso__class_form f;
  if (!iso__takes(ctx, "multi_margin_loss", 2, ISO__TENSORS(x, target)) ||
      !iso__takes_floats(ctx, "multi_margin_loss", 2, ISO__TENSORS(x, o->weights)) ||
      !check_dims(ctx, "multi_margin_loss", x))
    return NULL;
  iso__enter(ctx);
  if (x->view.n_dims == 0) x = iso_unsqueeze(ctx, x, 0); /* one class */
  if (x && x->view.n_dims == 1 && iso__view_numel(&target->view) == 1) target = iso_reshape(ctx, target, 0, NULL);
  if (!x || !target || !iso__class_form_of(ctx, "multi_margin_loss", x, target, &f)) return iso__leave(ctx, NULL);
  if (o->p < 0 || o->p > 2)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "multi_margin_loss", "p is %d: 1 or 2 is needed", o->p);
  else if (o->weights && iso__view_numel(&o->weights->view) != f.classes)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "multi_margin_loss", "weights are %lld for %lld classes",
              (long long)iso__view_numel(&o->weights->view), (long long)f.classes);
  if (iso__failed(ctx)) return iso__leave(ctx, NULL);
  iso_tensor *t = iso__class_targets(ctx, "multi_margin_loss", target, f.classes, NULL);
  iso_tensor *own = iso_unsqueeze(ctx, iso__class_pick(ctx, x, t), -1); /* x_t */
  iso_tensor *hinge = iso_relu(ctx, iso_add_scalar(ctx, iso_sub(ctx, x, own), margin));
  if (o->p == 2) hinge = iso_square(ctx, hinge);
  iso_tensor *others = t ? iso_rsub_scalar(ctx, iso__class_one_hot(ctx, x, t), 1) : NULL;
  iso_tensor *loss = iso_sum(ctx, iso_mul(ctx, hinge, others), 1, (const int[]){-1}, false);
  if (o->weights) loss = iso_mul(ctx, loss, iso__class_weights(ctx, t, o->weights, x->view.dtype, f.classes, 1));
  loss = iso_div_scalar(ctx, loss, (double)f.classes);
  return iso__leave(ctx,
                    iso__loss_reduce(ctx, loss, &(iso_loss_options){.reduction = o->reduction, .count = o->count}));
}

/* How often each class is among its row's targets, up to the first −1: x's shape and dtype. */
static iso_tensor *target_counts(iso_context *ctx, const iso_tensor *x, const iso_tensor *target) {
  iso_tensor *t = iso_contiguous(ctx, target);
  const iso__view *v = &x->view;
  const int64_t classes = v->shape[v->n_dims - 1], rows = v->n_dims == 2 ? v->shape[0] : 1, n = rows * classes;
  iso_tensor *counts = t ? iso_tensor_zeros(ctx, v->dtype, v->n_dims, v->shape) : NULL;
  if (!counts) return NULL;
  const int64_t *value = iso__data(t);
  for (int64_t i = 0; i < n; i++) {
    if (value[i] < -1 || value[i] >= classes) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "multilabel_margin_loss",
                "target[%lld] of row %lld is %lld: classes run from 0 to %lld, −1 ends them", (long long)(i % classes),
                (long long)(i / classes), (long long)value[i], (long long)classes - 1);
      return NULL;
    }
    if (value[i] == -1) {
      i += classes - 1 - i % classes; /* on to the next row */
      continue;
    }
    const int64_t at = i / classes * classes + value[i];
    if (v->dtype == ISO_F64) ((double *)iso__data(counts))[at]++;
    else ((float *)iso__data(counts))[at]++;
  }
  return counts;
}

iso_tensor *iso_multilabel_margin_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                       const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "multilabel_margin_loss", iso_multilabel_margin_loss(ctx, x, target, options), &x, &target);
  if (!iso__takes_floats(ctx, "multilabel_margin_loss", 1, ISO__TENSORS(x)) ||
      !iso__takes(ctx, "multilabel_margin_loss", 2, ISO__TENSORS(x, target)) ||
      !check_dims(ctx, "multilabel_margin_loss", x))
    return NULL;
  const iso__view *form = &x->view, *of_target = &target->view;
  char tx[128], tt[128];
  if (of_target->dtype != ISO_I64)
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, "multilabel_margin_loss", "target is %s: i64 is needed",
              iso_dtype_name(of_target->dtype));
  else if (!iso__same_shape(form, of_target))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "multilabel_margin_loss", "x is %s but target is %s",
              iso__shape_text(form->n_dims, form->shape, tx, sizeof tx),
              iso__shape_text(of_target->n_dims, of_target->shape, tt, sizeof tt));
  if (iso__failed(ctx)) return NULL;
  iso__enter(ctx);
  if (x->view.n_dims == 0) x = iso_unsqueeze(ctx, x, 0), target = iso_unsqueeze(ctx, target, 0);
  if (!x || !target) return iso__leave(ctx, NULL);
  iso_tensor *counts = target_counts(ctx, x, target);
  if (!counts) return iso__leave(ctx, NULL);
  iso_tensor *zero = iso__scalar(ctx, x->view.dtype, 0), *one = iso__scalar(ctx, x->view.dtype, 1);
  iso_tensor *outside = iso_where(ctx, iso_eq(ctx, counts, zero), one, zero);
  /* Pairs (row, target class, other class). */
  iso_tensor *how_often = iso_unsqueeze(ctx, counts, -1), *is_other = iso_unsqueeze(ctx, outside, -2);
  iso_tensor *pairs = iso_mul(ctx, how_often, is_other);
  iso_tensor *own = iso_unsqueeze(ctx, x, -1), *other = iso_unsqueeze(ctx, x, -2), *d = iso_sub(ctx, own, other);
  iso_tensor *hinge = iso_mul(ctx, iso_relu(ctx, iso_rsub_scalar(ctx, d, 1)), pairs);
  iso_tensor *sum = iso_sum(ctx, hinge, 2, (const int[]){-2, -1}, false);
  iso_tensor *loss = iso_div_scalar(ctx, sum, (double)x->view.shape[x->view.n_dims - 1]);
  return iso__leave(ctx, iso__loss_reduce(ctx, loss, options));
}

iso_tensor *iso_multilabel_soft_margin_loss(iso_context *ctx, const iso_tensor *x, const iso_tensor *target,
                                            const iso_loss_options *options) {
  ISO__AUTOCAST(ctx, "multilabel_soft_margin_loss", iso_multilabel_soft_margin_loss(ctx, x, target, options), &x,
                &target);
  if (!iso__loss_shapes(ctx, "multilabel_soft_margin_loss", x, target, "target")) return NULL;
  if (x->view.n_dims < 1) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "multilabel_soft_margin_loss", "x has no axis of classes");
    return NULL;
  }
  const iso_loss_options none = {0};
  iso_loss_options o = options ? *options : none;
  iso__enter(ctx);
  iso_tensor *yes = iso_mul(ctx, target, iso_softplus(ctx, iso_neg(ctx, x)));
  iso_tensor *absent = iso_rsub_scalar(ctx, target, 1), *no = iso_mul(ctx, absent, iso_softplus(ctx, x));
  iso_tensor *loss = iso_add(ctx, yes, no);
  if (o.weight) loss = iso_mul(ctx, loss, o.weight);
  o.weight = NULL;
  return iso__leave(ctx, iso__loss_reduce(ctx, iso_mean(ctx, loss, 1, (const int[]){-1}, false), &o));
}
