/* loss.h: cross entropy of logits against integer classes (NUMERICS §5). Class `lanes`.
 *
 * x (rows,n) contiguous, target (rows) i64 in [0,n) (checked above this room), weights (n) or NULL. `ignores`: a target
 * n is no class: the row's loss and gradient are +0.
 * fwd: y = log-softmax(x) (rows,n); row_loss = −y[t], weighted w_t·(−y[t]).
 * bwd: dx = (exp(y)−[j = t])·scale, weighted (exp(y)−[j = t])·(scale·w_t). scale = dloss/count, one division, made
 * above; `row_scale`: one for each row. */
#ifndef ISO_KERNELS_LOSS_H
#define ISO_KERNELS_LOSS_H
#include "plan/plan.h"
typedef struct iso_cross_entropy_problem {
  iso__problem head;
  int64_t rows, n;
  uint8_t has_weights, ignores, row_scale; /* row_scale: backward only */
  uint8_t reserved[5];
} iso_cross_entropy_problem;
typedef struct iso_cross_entropy_args {
  const void *x, *y_saved, *weights, *scale; /* scale: one element of the dtype, or (rows) */
  const int64_t *target;
  void *y, *row_loss, *dx;
} iso_cross_entropy_args;
#endif
