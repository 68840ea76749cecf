/* scan.h: cumulative sums, products, extrema and log-sum-exps along one axis (docs/numerics.md §2).
 *
 * x, y (outer,n,inner) contiguous: y[k] = x[0] ∘ … ∘ x[k] along n; `reverse`: x[n−1] ∘ … ∘ x[k]. Class `scan`, floats:
 * panels of 1024 run ascending from ∘'s neutral element (+0, 1, −inf); y = carry ∘ run, where carry is the earlier
 * panels' totals. LOGSUMEXP: a ∘ b = max(a,b) + log(1 + exp(−|a − b|)), of equals max + log 2. Class `integer`: SUM and
 * PROD of integers are i64 and wrap. Class `extremum`, any dtype: MAX, MIN, with the index of what y is: the last NaN
 * so far, else the last of equals. */
#ifndef ISO_KERNELS_SCAN_H
#define ISO_KERNELS_SCAN_H
#include "plan/plan.h"
#include "numeric/hd.h"

typedef enum iso__scan_fn {
  ISO__SCAN_SUM,
  ISO__SCAN_PROD,
  ISO__SCAN_LOGSUMEXP,
  ISO__SCAN_MAX,
  ISO__SCAN_MIN
} iso__scan_fn;

typedef struct iso_scan_problem {
  iso__problem head;
  int64_t outer, n, inner;
  uint8_t fn; /* iso__scan_fn */
  uint8_t reverse;
  uint8_t reserved[6];
} iso_scan_problem;
typedef struct iso_scan_args {
  const void *x;
  void *y;     /* i64: sums and products of integers; else of x's dtype */
  void *index; /* MAX, MIN: i64 */
} iso_scan_args;

static inline ISO__HD bool iso__scan_is_extremum(unsigned fn) { return fn >= ISO__SCAN_MAX; }
static inline ISO__HD iso_dtype iso__scan_result(unsigned fn, iso_dtype dtype) {
  return dtype >= ISO_I64 && !iso__scan_is_extremum(fn) ? ISO_I64 : dtype;
}
#endif
