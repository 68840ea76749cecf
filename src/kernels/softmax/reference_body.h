/* Softmax of one output element, once per precision; see reference.c. */
#include "kernels/softmax/rows_reference.h"

static ISO__HD REAL NAMED(gradient_at)(const REAL *y, const REAL *dy, int64_t n, int64_t j, bool log) {
  if (log) return EXACT(fma)(-MATH(exp)(y[j]), NAMED(iso__lanes_sum)(dy, 1, (size_t)n), dy[j]);
  return y[j] * (dy[j] - NAMED(iso__lanes_dot)(dy, 1, y, 1, (size_t)n));
}

static ISO__HD REAL NAMED(element)(const iso_softmax_problem *p, const iso_softmax_args *a, int64_t index) {
  const int64_t row = index / p->n * p->n, j = index % p->n;
  if (p->head.op == ISO__OP_SOFTMAX_FWD) return NAMED(softmax_at)((const REAL *)a->x + row, p->n, j, p->log);
  return NAMED(gradient_at)((const REAL *)a->y_saved + row, (const REAL *)a->dy + row, p->n, j, p->log);
}
