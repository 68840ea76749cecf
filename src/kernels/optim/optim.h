/* optim.h: parameter updates over n contiguous elements; class `map` (NUMERICS §5, "Optimisers").
 *
 * The host scalars are computed in f64 above this room and rounded once here. What each operator computes stands in
 * reference_body.h. State: m (a mean of gradients), v (of squares; SGD: the momentum buffer; Adagrad: their sum;
 * Adamax: the largest magnitude), u (RMSprop: the momentum buffer; Adadelta: a mean of squared steps). */
#ifndef ISO_KERNELS_OPTIM_H
#define ISO_KERNELS_OPTIM_H
#include "numeric/hd.h"
#include "plan/plan.h"
typedef struct iso_optim_problem {
  iso__problem head;
  int64_t n;
  int64_t n_tensors; /* 0: one tensor; else so many, of n elements in all, that share every scalar */
  uint8_t momentum, nesterov, first_step, weight_decay; /* SGD, RMSPROP (momentum): which terms exist */
  uint8_t decoupled;                                    /* ADAM, NADAM, RADAM: AdamW's decay */
  uint8_t has_scale;                                    /* g is multiplied by grad_scale first (clipping, unscaling) */
  uint8_t centered;                                     /* RMSPROP: by the variance */
  uint8_t rectified;                                    /* RADAM: enough steps for a variance */
} iso_optim_problem;
/* One of several tensors. */
typedef struct iso__optim_tensor {
  void *p;
  const void *g;
  void *m, *v, *u;
  int64_t n;
} iso__optim_tensor;
typedef struct iso_optim_args {
  void *p;
  const void *g;
  void *m, *v, *u;
  /* Of n_tensors, on the host; NULL: they lie one behind the other in p, g, m, v and u, cut where iso__optim_cut says.
   * References compute those alone. */
  const iso__optim_tensor *list;
  const void *grad_scale;                       /* one element of the dtype, or NULL */
  double lr, weight_decay, momentum, dampening; /* SGD; RMSPROP, ADADELTA: lr too */
  double one_minus_b1, b1, one_minus_b2, b2;    /* decay of m and of v, u; each rounded once to the dtype */
  double minus_lr_over_bc1, inv_sqrt_bc2, eps,
      decay;                  /* decay = 1 − lr·wd; ADAGRAD, RADAM: the whole factor, negative */
  double minus_gradient_rate; /* NADAM: g's factor, minus_lr_over_bc1 being m's */
} iso_optim_args;

static inline int64_t iso__optim_cut(const iso_optim_problem *p, int64_t tensor) {
  return (int64_t)((double)p->n * (double)tensor / (double)p->n_tensors);
}

enum { ISO__OPTIM_M, ISO__OPTIM_V, ISO__OPTIM_U, ISO__N_OPTIM_STATES };
/* Whether the problem has that state. */
static inline ISO__HD bool iso__optim_has(const iso_optim_problem *p, int state) {
  switch (p->head.op) {
  case ISO__OP_SGD_STEP: return state == ISO__OPTIM_V && p->momentum;
  case ISO__OP_ADAGRAD_STEP: return state == ISO__OPTIM_V;
  case ISO__OP_ADADELTA_STEP: return state != ISO__OPTIM_M;
  case ISO__OP_RMSPROP_STEP:
    return state == ISO__OPTIM_V || (state == ISO__OPTIM_M && p->centered) || (state == ISO__OPTIM_U && p->momentum);
  default: return state != ISO__OPTIM_U;
  }
}
#endif
