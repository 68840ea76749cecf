/* loss.h (internal): what the losses share: class targets and reductions. */
#ifndef ISO_OPS_LOSS_LOSS_H
#define ISO_OPS_LOSS_LOSS_H
#include <math.h>
#include "ops/ops.h"

/* False with the error kept where the shapes differ. */
bool iso__loss_shapes(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *target,
                      const char *target_name);
/* Weight, then sum and division as the options say. */
iso_tensor *iso__loss_reduce(iso_context *ctx, const iso_tensor *losses, const iso_loss_options *o);

/* ---- classes ---- */
/* x as (N, classes, inner): classes are axis 1, or the only one. */
typedef struct iso__class_form {
  int64_t n, classes, inner;
  int axis; /* of the classes */
} iso__class_form;
/* False with the error kept unless target is x's shape without its classes, i64. */
bool iso__class_form_of(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *target,
                        iso__class_form *form);
/* The targets side by side, each within [0, classes), or `classes` where it equals *ignored (NULL: none is); NULL with
 * the position and value of one that isn't. */
iso_tensor *iso__class_targets(iso_context *ctx, const char *op, const iso_tensor *target, int64_t classes,
                               const int64_t *ignored);
/* One value a target: factor·weights[t] (weights NULL: factor), +0 for ignored ones. The target's shape; constant. */
iso_tensor *iso__class_weights(iso_context *ctx, const iso_tensor *targets, const iso_tensor *weights, iso_dtype dtype,
                               int64_t classes, double factor);
/* x's element at each target, +0 for ignored ones: the target's shape, recorded. targets from iso__class_targets. */
iso_tensor *iso__class_pick(iso_context *ctx, const iso_tensor *x, const iso_tensor *targets);
/* 1 at each target, else 0: x's shape, constant. */
iso_tensor *iso__class_one_hot(iso_context *ctx, const iso_tensor *x, const iso_tensor *targets);
#endif
