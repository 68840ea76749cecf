/* Optimiser steps of one element, once per precision; see reference.c. REAL is the type, NAMED(f) the name of f in it,
 * EXACT(f) the C library's exact function f. Every scalar is rounded to REAL once. */

typedef struct NAMED(element) {
  REAL p, state[ISO__N_OPTIM_STATES];
} NAMED(element);

/* b·old + (1 − b)·x */
static ISO__HD REAL NAMED(mean)(REAL old, REAL x, double b, double one_minus_b) {
  return EXACT(fma)((REAL)one_minus_b, x, (REAL)b * old);
}

static ISO__HD void NAMED(sgd)(const iso_optim_problem *o, const iso_optim_args *a, REAL g, NAMED(element) * e) {
  REAL *v = &e->state[ISO__OPTIM_V];
  if (o->momentum) {
    *v = o->first_step ? g : EXACT(fma)((REAL)a->momentum, *v, (REAL)(1 - a->dampening) * g);
    g = o->nesterov ? EXACT(fma)((REAL)a->momentum, *v, g) : *v;
  }
  e->p = EXACT(fma)(-(REAL)a->lr, g, e->p);
}

/* Rounding can take the variance below 0, which counts as 0. */
static ISO__HD void NAMED(rmsprop)(const iso_optim_problem *o, const iso_optim_args *a, REAL g, NAMED(element) * e) {
  REAL *m = &e->state[ISO__OPTIM_M], *v = &e->state[ISO__OPTIM_V], *u = &e->state[ISO__OPTIM_U];
  *v = NAMED(mean)(*v, g * g, a->b2, a->one_minus_b2);
  REAL variance = *v;
  if (o->centered) {
    *m = NAMED(mean)(*m, g, a->b1, a->one_minus_b1);
    variance = EXACT(fma)(-*m, *m, *v);
    if (variance < 0) variance = 0;
  }
  REAL step = g / (EXACT(sqrt)(variance) + (REAL)a->eps);
  if (o->momentum) step = *u = EXACT(fma)((REAL)a->momentum, *u, step);
  e->p = EXACT(fma)(-(REAL)a->lr, step, e->p);
}

static ISO__HD void NAMED(adagrad)(const iso_optim_args *a, REAL g, NAMED(element) * e) {
  REAL *v = &e->state[ISO__OPTIM_V];
  *v = EXACT(fma)(g, g, *v);
  e->p = EXACT(fma)((REAL)a->minus_lr_over_bc1, g / (EXACT(sqrt)(*v) + (REAL)a->eps), e->p);
}

static ISO__HD void NAMED(adadelta)(const iso_optim_args *a, REAL g, NAMED(element) * e) {
  REAL *v = &e->state[ISO__OPTIM_V], *u = &e->state[ISO__OPTIM_U];
  *v = NAMED(mean)(*v, g * g, a->b2, a->one_minus_b2);
  const REAL step = EXACT(sqrt)(*u + (REAL)a->eps) / EXACT(sqrt)(*v + (REAL)a->eps) * g;
  *u = NAMED(mean)(*u, step * step, a->b2, a->one_minus_b2);
  e->p = EXACT(fma)(-(REAL)a->lr, step, e->p);
}

/* A NaN in either is the larger. */
static ISO__HD void NAMED(adamax)(const iso_optim_args *a, REAL g, NAMED(element) * e) {
  REAL *m = &e->state[ISO__OPTIM_M], *v = &e->state[ISO__OPTIM_V];
  const REAL old = (REAL)a->b2 * *v, now = EXACT(fabs)(g) + (REAL)a->eps;
  *m = NAMED(mean)(*m, g, a->b1, a->one_minus_b1);
  *v = old != old || old > now ? old : now;
  e->p = EXACT(fma)((REAL)a->minus_lr_over_bc1, *m / *v, e->p);
}

/* Adam, NAdam and RAdam: the moments are the same, what becomes of them is not. */
static ISO__HD void NAMED(adam)(const iso_optim_problem *o, const iso_optim_args *a, REAL g, NAMED(element) * e) {
  REAL *m = &e->state[ISO__OPTIM_M], *v = &e->state[ISO__OPTIM_V];
  *m = NAMED(mean)(*m, g, a->b1, a->one_minus_b1);
  *v = NAMED(mean)(*v, g * g, a->b2, a->one_minus_b2);
  REAL p = o->decoupled ? e->p * (REAL)a->decay : e->p, step = *m;
  const REAL size = EXACT(sqrt)(*v), eps = (REAL)a->eps, corrected = EXACT(fma)(size, (REAL)a->inv_sqrt_bc2, eps);
  if (o->head.op == ISO__OP_NADAM_STEP) p = EXACT(fma)((REAL)a->minus_gradient_rate, g / corrected, p);
  if (o->head.op != ISO__OP_RADAM_STEP) step = *m / corrected;
  else if (o->rectified) step = *m / (size + eps);
  e->p = EXACT(fma)((REAL)a->minus_lr_over_bc1, step, p);
}

static ISO__HD NAMED(element) NAMED(step)(const iso_optim_problem *o, const iso_optim_args *a, int64_t i) {
  NAMED(element) e = {.p = ((const REAL *)a->p)[i]};
  const void *const states[ISO__N_OPTIM_STATES] = {a->m, a->v, a->u}; /* ISO__OPTIM_M, _V, _U */
  REAL g = ((const REAL *)a->g)[i];
  for (int s = 0; s < ISO__N_OPTIM_STATES; s++)
    if (iso__optim_has(o, s) && !o->first_step) e.state[s] = ((const REAL *)states[s])[i];
  if (o->has_scale) g = g * *(const REAL *)a->grad_scale;
  if (o->weight_decay && !o->decoupled) g = EXACT(fma)((REAL)a->weight_decay, e.p, g);
  switch (o->head.op) {
  case ISO__OP_SGD_STEP: NAMED(sgd)(o, a, g, &e); break;
  case ISO__OP_RMSPROP_STEP: NAMED(rmsprop)(o, a, g, &e); break;
  case ISO__OP_ADAGRAD_STEP: NAMED(adagrad)(a, g, &e); break;
  case ISO__OP_ADADELTA_STEP: NAMED(adadelta)(a, g, &e); break;
  case ISO__OP_ADAMAX_STEP: NAMED(adamax)(a, g, &e); break;
  default: NAMED(adam)(o, a, g, &e);
  }
  return e;
}
