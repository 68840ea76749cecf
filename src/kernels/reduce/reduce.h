/* reduce.h: reductions of rows (class `lanes`) and of columns (class `ordered`), NUMERICS §2 and §3.
 *
 * rows: x (outer,n) contiguous -> y (outer). columns: x (outer,n,inner) contiguous -> y (outer,inner), k ascending over
 * n. Which one is decided by the axes, never by extents. SUM; MEAN = sum/(float)n; SUM_SQUARES by fma; PROD from 1
 * (lanes or chunks of products multiply; rows: ascending product in 64 lanes from 1, tree of products); MAX, MIN: any
 * NaN gives NaN, a zero result is +0 (rows and columns alike; class `extremum`: no order needed); ARGMAX, ARGMIN: i64,
 * the first NaN, else the lowest index of equals. n = 0: sum +0, prod 1, mean NaN; max, min, arg*: refused above this
 * room. */
#ifndef ISO_KERNELS_REDUCE_H
#define ISO_KERNELS_REDUCE_H
#include "plan/plan.h"

#define ISO__REDUCE_LIST(X)                                                                                            \
  X(SUM, "sum")                                                                                                        \
  X(MEAN, "mean")                                                                                                      \
  X(SUM_SQUARES, "sum_squares") X(PROD, "prod") X(MAX, "max") X(MIN, "min") X(ARGMAX, "argmax") X(ARGMIN, "argmin")
typedef enum iso__reduce_fn {
#define ISO__REDUCE_ENUM(id, name) ISO__REDUCE_##id,
  ISO__REDUCE_LIST(ISO__REDUCE_ENUM)
#undef ISO__REDUCE_ENUM
      ISO__N_REDUCES
} iso__reduce_fn;

typedef struct iso_reduce_problem {
  iso__problem head;
  int64_t outer, n, inner; /* rows: inner = 1 */
  uint16_t fn;
  uint8_t reserved[6];
} iso_reduce_problem;
typedef struct iso_reduce_args {
  const void *x;
  void *y;
} iso_reduce_args;
#endif
