/* softmax.h: softmax and log-softmax along rows, forward and backward; class `lanes` (NUMERICS §5).
 *
 * x, y, dy, dx (rows,n) contiguous. m = amax; e = exp(x−m); y = e·(1/lanes(e)); dx = y·(dy−lanes(dy·y)).
 * log: y = (x−m)−log(lanes(e)); dx = fma(−exp(y), lanes(dy), dy). A row of −inf gives zeros. */
#ifndef ISO_KERNELS_SOFTMAX_H
#define ISO_KERNELS_SOFTMAX_H
#include "plan/plan.h"
typedef struct iso_softmax_problem {
  iso__problem head;
  int64_t rows, n;
  uint8_t log;
  uint8_t reserved[7];
} iso_softmax_problem;
/* fwd: x -> y. bwd: y, dy -> dx. */
typedef struct iso_softmax_args {
  const void *x, *y_saved, *dy;
  void *y, *dx;
} iso_softmax_args;
#endif
