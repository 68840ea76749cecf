/* Optimiser steps of one element, once per precision; see reference.c. REAL is the type, NAMED(f) the name of f in it,
 * EXACT(f) the C library's exact function f. Every scalar is rounded to REAL once. */

typedef struct NAMED(element) {
  REAL p, m, v;
} NAMED(element);

static NAMED(element) NAMED(step)(const iso_optim_problem *o, const iso_optim_args *a, int64_t i) {
  NAMED(element) e = {.p = ((const REAL *)a->p)[i]};
  REAL g = ((const REAL *)a->g)[i];
  if (o->has_scale) g = g * *(const REAL *)a->grad_scale;
  if (o->weight_decay && !o->decoupled) g = EXACT(fma)((REAL)a->weight_decay, e.p, g);
  if (o->head.op == ISO__OP_SGD_STEP) {
    if (o->momentum) {
      e.v = o->first_step ? g : EXACT(fma)((REAL)a->momentum, ((const REAL *)a->v)[i], (REAL)(1 - a->dampening) * g);
      g = o->nesterov ? EXACT(fma)((REAL)a->momentum, e.v, g) : e.v;
    }
    e.p = EXACT(fma)(-(REAL)a->lr, g, e.p);
    return e;
  }
  e.m = EXACT(fma)((REAL)a->one_minus_b1, g, (REAL)a->b1 * ((const REAL *)a->m)[i]);
  e.v = EXACT(fma)((REAL)a->one_minus_b2, g * g, (REAL)a->b2 * ((const REAL *)a->v)[i]);
  const REAL size = EXACT(fma)(EXACT(sqrt)(e.v), (REAL)a->inv_sqrt_bc2, (REAL)a->eps);
  e.p = EXACT(fma)((REAL)a->minus_lr_over_bc1, e.m / size, o->decoupled ? e.p * (REAL)a->decay : e.p);
  return e;
}
