/* step_impl.h: optimiser steps in one pass over parameters, gradients and state; included once per instruction set,
 * which names its exports by ISA(name). Memory-bound: each array is read and written once, whatever terms the step has.
 */
#include "base/pool.h"
#include "kernels/optim/optim.h"
#include "numeric/vec.h"

enum { STEP_GRAIN = 16384 };

typedef struct job {
  const iso_optim_problem *o;
  float *p, *m, *v, *u;
  const float *g;
  float scale, lr, weight_decay, momentum, one_minus_dampening;
  float one_minus_b1, b1, one_minus_b2, b2, minus_lr_over_bc1, inv_sqrt_bc2, eps, decay;
  float minus_gradient_rate;
} job;

/* The gradient after scaling and, unless decoupled, decay. */
VEC_FN vf gradient(const job *j, int64_t i, size_t n, vf p) {
  vf g = vf_load_n(j->g + i, n);
  if (j->o->has_scale) g = vf_mul(g, vf_set1(j->scale));
  if (j->o->weight_decay && !j->o->decoupled) g = vf_fma(vf_set1(j->weight_decay), p, g);
  return g;
}

/* n of VF_LANES parameters from i on; with the constant VF_LANES plain loads and stores. */
VEC_FN void sgd(const job *j, int64_t i, size_t n) {
  const vf p = vf_load_n(j->p + i, n);
  vf g = gradient(j, i, n, p);
  if (j->o->momentum) {
    const vf mu = vf_set1(j->momentum);
    const vf v = j->o->first_step ? g : vf_fma(mu, vf_load_n(j->v + i, n), vf_mul(vf_set1(j->one_minus_dampening), g));
    vf_store_n(j->v + i, v, n);
    g = j->o->nesterov ? vf_fma(mu, v, g) : v;
  }
  vf_store_n(j->p + i, vf_fma(vf_set1(-j->lr), g, p), n);
}

VEC_FN void adam(const job *j, int64_t i, size_t n) {
  const vf p = vf_load_n(j->p + i, n), g = gradient(j, i, n, p);
  const vf m = vf_fma(vf_set1(j->one_minus_b1), g, vf_mul(vf_set1(j->b1), vf_load_n(j->m + i, n)));
  const vf v = vf_fma(vf_set1(j->one_minus_b2), vf_mul(g, g), vf_mul(vf_set1(j->b2), vf_load_n(j->v + i, n)));
  const vf size = vf_fma(vf_sqrt(v), vf_set1(j->inv_sqrt_bc2), vf_set1(j->eps));
  const vf decayed = j->o->decoupled ? vf_mul(p, vf_set1(j->decay)) : p;
  vf_store_n(j->m + i, m, n);
  vf_store_n(j->v + i, v, n);
  vf_store_n(j->p + i, vf_fma(vf_set1(j->minus_lr_over_bc1), vf_div(m, size), decayed), n);
}

#include "kernels/optim/adaptive_impl.h"

VEC_FN void over(const job *j, int64_t begin, int64_t end, void (*step)(const job *, int64_t, size_t)) {
  int64_t i = begin;
  for (; i + VF_LANES <= end; i += VF_LANES) step(j, i, VF_LANES);
  if (i < end) step(j, i, (size_t)(end - i));
}
#define RUN(step) (void)thread, over(arg, begin, end, step)
static void run_sgd(void *arg, int64_t begin, int64_t end, int thread) { RUN(sgd); }
static void run_adam(void *arg, int64_t begin, int64_t end, int thread) { RUN(adam); }
static void run_rmsprop(void *arg, int64_t begin, int64_t end, int thread) { RUN(rmsprop); }
static void run_adagrad(void *arg, int64_t begin, int64_t end, int thread) { RUN(adagrad); }
static void run_adadelta(void *arg, int64_t begin, int64_t end, int thread) { RUN(adadelta); }
static void run_adamax(void *arg, int64_t begin, int64_t end, int thread) { RUN(adamax); }
static void run_nadam(void *arg, int64_t begin, int64_t end, int thread) { RUN(nadam); }
static void run_radam(void *arg, int64_t begin, int64_t end, int thread) { RUN(radam); }

static iso__range_fn *run_of(const iso__problem *problem) {
  switch (problem->op) {
  case ISO__OP_SGD_STEP: return run_sgd;
  case ISO__OP_RMSPROP_STEP: return run_rmsprop;
  case ISO__OP_ADAGRAD_STEP: return run_adagrad;
  case ISO__OP_ADADELTA_STEP: return run_adadelta;
  case ISO__OP_ADAMAX_STEP: return run_adamax;
  case ISO__OP_NADAM_STEP: return run_nadam;
  case ISO__OP_RADAM_STEP: return run_radam;
  default: return run_adam;
  }
}

void ISA(iso__optim_run)(const iso__call *call) {
  const iso_optim_args *a = call->args;
  job j = {.o = (const iso_optim_problem *)call->problem,
           .p = a->p,
           .m = a->m,
           .v = a->v,
           .u = a->u,
           .g = a->g,
           .lr = (float)a->lr,
           .weight_decay = (float)a->weight_decay,
           .momentum = (float)a->momentum,
           .one_minus_dampening = (float)(1 - a->dampening),
           .one_minus_b1 = (float)a->one_minus_b1,
           .b1 = (float)a->b1,
           .one_minus_b2 = (float)a->one_minus_b2,
           .b2 = (float)a->b2,
           .minus_lr_over_bc1 = (float)a->minus_lr_over_bc1,
           .inv_sqrt_bc2 = (float)a->inv_sqrt_bc2,
           .eps = (float)a->eps,
           .decay = (float)a->decay,
           .minus_gradient_rate = (float)a->minus_gradient_rate};
  if (j.o->has_scale) j.scale = *(const float *)a->grad_scale;
  iso__parallel_range(call->ctx, j.o->n, STEP_GRAIN, 16, run_of(&j.o->head), &j);
}
