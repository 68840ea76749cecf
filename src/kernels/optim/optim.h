/* optim.h: parameter updates over n contiguous elements; class `map` (NUMERICS §5, "Optimisers").
 *
 * The host scalars are computed in f64 above this room and rounded once here. SGD: g = fma(wd,p,g); v = fma(mu,v,(1−
 * dampening)·g); nesterov g = fma(mu,v,g), else g = v; p = fma(−lr,v or g,p). Without momentum v is not touched; in the
 * first step v = g. ADAM: see NUMERICS. */
#ifndef ISO_KERNELS_OPTIM_H
#define ISO_KERNELS_OPTIM_H
#include "plan/plan.h"
typedef struct iso_optim_problem {
  iso__problem head;
  int64_t n;
  uint8_t momentum, nesterov, first_step, weight_decay; /* SGD: which terms exist */
  uint8_t decoupled;                                    /* ADAM: AdamW's decay */
  uint8_t has_scale;                                    /* g is multiplied by grad_scale first (clipping, unscaling) */
  uint8_t reserved[2];
} iso_optim_problem;
typedef struct iso_optim_args {
  void *p;
  const void *g;
  void *m, *v;                                        /* ADAM: both; SGD: v is the momentum buffer */
  const void *grad_scale;                             /* one element of the dtype, or NULL */
  double lr, weight_decay, momentum, dampening;       /* SGD */
  double one_minus_b1, b1, one_minus_b2, b2;          /* ADAM, each rounded once to the dtype */
  double minus_lr_over_bc1, inv_sqrt_bc2, eps, decay; /* decay = 1 − lr·wd */
} iso_optim_args;
#endif
