/* Cross entropy of one output element, once per precision; see reference.c. */
#include "kernels/softmax/rows_reference.h"

static ISO__HD REAL NAMED(row_loss)(const iso_cross_entropy_problem *p, const iso_cross_entropy_args *a, int64_t row) {
  const int64_t t = a->target[row];
  if (t == p->n) return 0;
  const REAL loss = -NAMED(softmax_at)((const REAL *)a->x + row * p->n, p->n, t, true);
  return p->has_weights ? ((const REAL *)a->weights)[t] * loss : loss;
}

static ISO__HD REAL NAMED(gradient)(const iso_cross_entropy_problem *p, const iso_cross_entropy_args *a,
                                    int64_t index) {
  const int64_t t = a->target[index / p->n];
  if (t == p->n) return 0;
  const REAL scale = ((const REAL *)a->scale)[p->row_scale ? index / p->n : 0], hit = index % p->n == t;
  return (MATH(exp)(((const REAL *)a->y_saved)[index]) - hit) *
         (p->has_weights ? scale * ((const REAL *)a->weights)[t] : scale);
}

static ISO__HD REAL NAMED(element)(const iso_cross_entropy_problem *p, const iso_cross_entropy_args *a, int operand,
                                   int64_t index) {
  const int y = 2 + p->has_weights; /* after target, perhaps weights, and x */
  if (p->head.op == ISO__OP_CROSS_ENTROPY_BWD) return NAMED(gradient)(p, a, index);
  if (operand != y) return NAMED(row_loss)(p, a, index);
  return NAMED(softmax_at)((const REAL *)a->x + index / p->n * p->n, p->n, index % p->n, true);
}
