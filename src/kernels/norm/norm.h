/* norm.h: batch normalisation over (rows, channels), channels-last; class `moments` (stats), `map` (apply), `ordered`
 * (gradient sums). NUMERICS §2 "moments", §5.
 *
 * stats: x (rows,c) -> mean (c), var (c) = M2/rows, unbiased (c) = M2/(rows − 1). fwd: r = 1/sqrt(var+eps); d = x−mean;
 * h = d·r; y = fma(h,γ,β), then residual (+), then relu: each exactly its stand-alone operator. bwd_reduce: dγ =
 * ordered(dy·h) by fma, dβ = ordered(dy), where dy is first masked by relu's gradient if activation is set (y_saved >
 * 0), and then also written to dz (the gradient that reaches the residual) when has_residual. bwd_data: dx =
 * (γ·r)·fma(−h, dγ/n, dy−dβ/n) (training) or dy·(γ·r) (not training: statistics are constants). γ, β are always given.
 *
 * Without a residual relu's mask is a function of x, which the gradients read anyway: with `recomputes` they take
 * fma(h,γ,β) > 0, which is y > 0 to the bit, instead of reading y_saved. */
#ifndef ISO_KERNELS_NORM_H
#define ISO_KERNELS_NORM_H
#include "plan/plan.h"
typedef struct iso_batch_norm_problem {
  iso__problem head;
  int64_t rows, c;
  uint8_t activation;   /* iso__activation: relu after residual */
  uint8_t has_residual; /* fwd: added before the activation */
  uint8_t training;     /* bwd_data */
  uint8_t recomputes;   /* bwd_reduce and, in training, bwd_data: the mask comes from x */
  uint8_t reserved[4];
} iso_batch_norm_problem;
/* stats: x -> mean, var, unbiased. fwd: x, mean, var, gamma, beta, residual -> y. bwd_reduce: x, mean, var, dy, y_saved
 * (recomputes: gamma, beta) -> dgamma, dbeta, dz. bwd_data: x, mean, var, gamma, dy, y_saved (recomputes: beta),
 * dgamma, dbeta -> dx. */
typedef struct iso_batch_norm_args {
  const void *x, *gamma, *beta, *residual, *dy, *y_saved;
  void *mean, *var; /* outputs of stats, inputs of the rest */
  void *unbiased;   /* output of stats: M2/(rows − 1), for the running variance */
  void *y, *dx, *dz, *dgamma, *dbeta;
  double eps;
} iso_batch_norm_args;
#endif
