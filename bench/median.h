/* median.h: the middle of a sample. */
#ifndef ISOBIT_BENCH_MEDIAN_H
#define ISOBIT_BENCH_MEDIAN_H
#include <stdlib.h>

static inline int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Of n values, which are put in order. */
static inline double median(double *values, size_t n) {
  qsort(values, n, sizeof *values, compare_doubles);
  return values[n / 2];
}

#endif
