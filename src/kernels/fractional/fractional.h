/* fractional.h: fractional max pooling (Graham, arXiv:1412.6071), channels-last.
 *
 * x (n,depth,row,column,c), samples (n,c,3) in [0,1), one an axis: window o of an axis begins at
 * ⌊(o + u)·a⌋ − ⌊u·a⌋ with a = (in − kernel)/(out − 1) in the operands' precision, the last one at in − kernel. y and
 * index (i64: the position in the plane) as max pooling has them. The gradient is unpool.add. */
#ifndef ISO_KERNELS_FRACTIONAL_H
#define ISO_KERNELS_FRACTIONAL_H
#include "plan/plan.h"

typedef struct iso_fractional_axis {
  int64_t in, kernel, out;
} iso_fractional_axis;
typedef struct iso_fractional_problem {
  iso__problem head;
  int64_t n, c;
  iso_fractional_axis axis[3];
} iso_fractional_problem;
typedef struct iso_fractional_args {
  const void *x, *samples;
  void *y;
  int64_t *index;
} iso_fractional_args;
const char *iso__fractional_wrong(const iso_fractional_problem *p);
#endif
