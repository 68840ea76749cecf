/* stats.c: medians with their confidence, and the process' peak memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The interval of a median by order statistics: ranks n/2 ± 0.98·√n (normal approximation of the binomial). */
sample_stats stats_of(const double *values, size_t n) {
  if (!n) return (sample_stats){NAN, NAN, NAN, NAN};
  double *v = malloc(n * sizeof *v);
  if (!v) return (sample_stats){NAN, NAN, NAN, NAN};
  memcpy(v, values, n * sizeof *v);
  qsort(v, n, sizeof *v, by_value);
  const double half = 0.5 * (double)n, width = 0.98 * sqrt((double)n);
  const double low = floor(half - width), high = ceil(half + width);
  const size_t last = n - 1, p95 = (size_t)ceil(0.95 * (double)n) - 1;
  const sample_stats s = {.median = n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]),
                          .p95 = v[p95],
                          .low = v[low > 0 ? (size_t)low : 0],
                          .high = v[high < (double)last ? (size_t)high : last]};
  free(v);
  return s;
}

long peak_memory_kib(void) {
  char line[256];
  long kib = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
  if (f) fclose(f);
  return kib;
}
