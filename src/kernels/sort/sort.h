/* sort.h: a window of the stable sort of each row; insertion points; counts. Exact, whatever the engine.
 *
 * SORT: x (rows,n) → y, index (rows,count): places begin … begin+count−1 of the row's stable sort, index i64 within the
 * row. The window makes one operator of sort (all), topk (the first k), kthvalue and median (one place). NaN is the
 * largest, all NaNs are equal, −0 equals +0; `descending` turns the order round but not that of equals: the lower index
 * comes first. y holds the elements of x themselves.
 *
 * SEARCH: sorted (rows,n) (rows 1 with `shared`), values (rows,m) → index (rows,m) i64: where the value belongs, before
 * its equals, with `right` behind them; the order of SORT. `sorter` (as sorted) holds i64 places: element i is
 * sorted[sorter[i]]. What bisection finds where it is not sorted is part of the definition:
 *   low = 0, high = n; while low < high: mid = low + (high − low)/2; s[mid] < v (right: ≤) ? low = mid + 1 : high =
 * mid.
 *
 * COUNT: index (n) i64 → count (bins) i64, count[b] = how often index holds b. Others are not counted. */
#ifndef ISO_KERNELS_SORT_H
#define ISO_KERNELS_SORT_H
#include "plan/plan.h"

typedef struct iso_sort_problem {
  iso__problem head;
  int64_t rows, n, begin, count;
  uint8_t descending;
  uint8_t reserved[7];
} iso_sort_problem;
typedef struct iso_sort_args {
  const void *x;
  void *y;
  int64_t *index;
} iso_sort_args;

typedef struct iso_search_problem {
  iso__problem head;
  int64_t rows, n, m;
  uint8_t shared, right, has_sorter;
  uint8_t reserved[5];
} iso_search_problem;
typedef struct iso_search_args {
  const void *sorted, *values;
  const int64_t *sorter;
  int64_t *index;
} iso_search_args;

typedef struct iso_count_problem {
  iso__problem head;
  int64_t n, bins;
} iso_count_problem;
typedef struct iso_count_args {
  const int64_t *index;
  int64_t *count;
} iso_count_args;
#endif
