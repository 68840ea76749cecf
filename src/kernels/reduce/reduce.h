/* reduce.h: reductions of rows (class `lanes`) and of columns (class `ordered`), NUMERICS §2 and §3.
 *
 * rows: x (outer,n) contiguous -> y (outer). columns: x (outer,n,inner) contiguous -> y (outer,inner), k ascending over
 * n. Which one is decided by the axes, never by extents. Sums of columns may also be cut: x (outer,n/tail,inner,tail),
 * k running over (n/tail,tail): the channels of an image whose pixels are innermost.
 *
 * Sums: SUM; MEAN = sum/(float)n; SUM_SQUARES by fma; PROD from 1 (rows: ascending product in 64 lanes from 1, tree of
 * products); NANSUM takes a NaN as +0; SUM_ABS. Sums in two looks: VAR, STD: mean, then d = x − mean, Σ d·d by fma,
 * over `divisor`, and the root of that; LOGSUMEXP: log Σ exp(x − m) + m, m the largest element (0 where that is not
 * finite). Floats; SUM and PROD of integers are i64 and wrap (class `integer`).
 * Extrema (class `extremum`: no order needed), any dtype: MAX, MIN: any NaN gives NaN, a zero result is +0 (rows and
 * columns alike); MAX_ABS, MIN_ABS the same of |x|; ARGMAX, ARGMIN: i64, the first NaN, else the lowest index of
 * equals; MAX_AT, MIN_AT: both. Truths (class `integer`), any dtype, a NaN is true: ANY, ALL (bool), COUNT (i64). n =
 * 0: sum +0, prod 1, mean and var NaN, logsumexp −inf, any 0, all 1, count 0; extrema are refused above this room. */
#ifndef ISO_KERNELS_REDUCE_H
#define ISO_KERNELS_REDUCE_H
#include "plan/plan.h"
#include "numeric/hd.h"

#define ISO__REDUCE_LIST(X)                                                                                            \
  X(SUM, "sum")                                                                                                        \
  X(MEAN, "mean")                                                                                                      \
  X(SUM_SQUARES, "sum_squares")                                                                                        \
  X(PROD, "prod")                                                                                                      \
  X(NANSUM, "nansum")                                                                                                  \
  X(SUM_ABS, "sum_abs")                                                                                                \
  X(VAR, "var")                                                                                                        \
  X(STD, "std")                                                                                                        \
  X(LOGSUMEXP, "logsumexp")                                                                                            \
  X(MAX, "max")                                                                                                        \
  X(MIN, "min")                                                                                                        \
  X(MAX_ABS, "max_abs")                                                                                                \
  X(MIN_ABS, "min_abs")                                                                                                \
  X(MAX_AT, "max_at")                                                                                                  \
  X(MIN_AT, "min_at")                                                                                                  \
  X(ARGMAX, "argmax")                                                                                                  \
  X(ARGMIN, "argmin")                                                                                                  \
  X(ANY, "any")                                                                                                        \
  X(ALL, "all")                                                                                                        \
  X(COUNT, "count")
typedef enum iso__reduce_fn {
#define ISO__REDUCE_ENUM(id, name) ISO__REDUCE_##id,
  ISO__REDUCE_LIST(ISO__REDUCE_ENUM)
#undef ISO__REDUCE_ENUM
      ISO__N_REDUCES
} iso__reduce_fn;

typedef struct iso_reduce_problem {
  iso__problem head;
  int64_t outer, n, inner; /* rows: inner = 1 */
  int64_t tail;            /* divides n; 0: not cut */
  uint16_t fn;
  uint8_t reserved[6];
} iso_reduce_problem;
typedef struct iso_reduce_args {
  const void *x;
  void *y;        /* of x's dtype; i64: ARGMAX, ARGMIN, COUNT and sums of integers; bool: ANY, ALL */
  void *mean;     /* VAR, STD: the means */
  void *index;    /* MAX_AT, MIN_AT: i64 */
  double divisor; /* VAR, STD; rounded to the dtype once */
} iso_reduce_args;

/* Where term k of column `inner` of one outer index lies. */
static inline ISO__HD int64_t iso__reduce_offset(const iso_reduce_problem *p, int64_t k, int64_t inner) {
  if (!p->tail) return k * p->inner + inner;
  return (k / p->tail * p->inner + inner) * p->tail + k % p->tail;
}
static inline ISO__HD bool iso__reduce_is_sum(iso__reduce_fn fn) { return fn <= ISO__REDUCE_LOGSUMEXP; }
static inline ISO__HD bool iso__reduce_is_spread(iso__reduce_fn fn) {
  return fn == ISO__REDUCE_VAR || fn == ISO__REDUCE_STD;
}
static inline ISO__HD bool iso__reduce_is_extremum(iso__reduce_fn fn) {
  return fn >= ISO__REDUCE_MAX && fn <= ISO__REDUCE_ARGMIN;
}
static inline ISO__HD bool iso__reduce_is_truth(iso__reduce_fn fn) { return fn >= ISO__REDUCE_ANY; }
static inline ISO__HD bool iso__reduce_is_largest(iso__reduce_fn fn) {
  return fn == ISO__REDUCE_MAX || fn == ISO__REDUCE_MAX_ABS || fn == ISO__REDUCE_MAX_AT || fn == ISO__REDUCE_ARGMAX;
}
static inline ISO__HD bool iso__reduce_is_magnitude(iso__reduce_fn fn) {
  return fn == ISO__REDUCE_MAX_ABS || fn == ISO__REDUCE_MIN_ABS;
}
/* Positions are wanted, alone or beside the value. */
static inline ISO__HD bool iso__reduce_is_index(iso__reduce_fn fn) {
  return fn == ISO__REDUCE_ARGMAX || fn == ISO__REDUCE_ARGMIN;
}
static inline ISO__HD bool iso__reduce_has_index(iso__reduce_fn fn) {
  return fn >= ISO__REDUCE_MAX_AT && fn <= ISO__REDUCE_ARGMIN;
}
static inline ISO__HD bool iso__reduce_is_whole(iso_dtype dtype) { return dtype >= ISO_I64; }
/* LOGSUMEXP begins with an extremum. */
static inline ISO__HD bool iso__reduce_takes_tail(const iso_reduce_problem *p) {
  return p->fn < ISO__REDUCE_LOGSUMEXP && !iso__reduce_is_whole((iso_dtype)p->head.dtype);
}
/* The dtype of y. */
static inline ISO__HD iso_dtype iso__reduce_result(iso__reduce_fn fn, iso_dtype dtype) {
  if (fn == ISO__REDUCE_ANY || fn == ISO__REDUCE_ALL) return ISO_BOOL;
  if (iso__reduce_is_index(fn) || fn == ISO__REDUCE_COUNT) return ISO_I64;
  return iso__reduce_is_sum(fn) && iso__reduce_is_whole(dtype) ? ISO_I64 : dtype;
}
#endif
