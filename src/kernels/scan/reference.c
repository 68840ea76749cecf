/* reference.c: classes `scan`, `integer` and `extremum`: one cumulative value from its index. */
#include <math.h>
#include "kernels/scan/scan.h"
#include "numeric/dtype.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/scan/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/scan/reference_body.h"

static ISO__HD int64_t whole_at(const iso_scan_problem *p, const void *x, int64_t at) {
  int64_t value;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  iso__cast_element((const char *)x + at * (int64_t)iso__dtype_size(dtype), dtype, &value, ISO_I64);
  return value;
}
/* Wraps in 64 bits. */
static ISO__HD int64_t whole_scan(const iso_scan_problem *p, const void *x, int64_t first, int64_t step,
                                  int64_t steps) {
  uint64_t y = p->fn == ISO__SCAN_PROD;
  for (int64_t i = 0; i <= steps; i++) {
    const uint64_t v = (uint64_t)whole_at(p, x, first + i * step);
    y = p->fn == ISO__SCAN_PROD ? y * v : y + v;
  }
  return (int64_t)y;
}
static ISO__HD int64_t whole_extremum(const iso_scan_problem *p, const void *x, int64_t first, int64_t step,
                                      int64_t steps) {
  int64_t best = 0;
  for (int64_t i = 1; i <= steps; i++) {
    const int64_t v = whole_at(p, x, first + i * step), b = whole_at(p, x, first + best * step);
    if (p->fn == ISO__SCAN_MAX ? v >= b : v <= b) best = i;
  }
  return best;
}

ISO__HD bool iso__scan_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_scan_problem *p = (const iso_scan_problem *)problem;
  const iso_scan_args *a = (const iso_scan_args *)args;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t inner = index % p->inner, k = index / p->inner % p->n, outer = index / p->inner / p->n;
  const int64_t steps = p->reverse ? p->n - 1 - k : k, step = p->reverse ? -p->inner : p->inner;
  const int64_t first = (outer * p->n + (p->reverse ? p->n - 1 : 0)) * p->inner + inner;
  if (iso__scan_is_extremum(p->fn)) {
    int64_t best;
    if (dtype == ISO_F32) best = extremum_f32(p->fn, (const float *)a->x + first, step, steps);
    else if (dtype == ISO_F64) best = extremum_f64(p->fn, (const double *)a->x + first, step, steps);
    else best = whole_extremum(p, a->x, first, step, steps);
    const int64_t at = p->reverse ? p->n - 1 - best : best;
    const size_t item = iso__dtype_size(dtype);
    if (operand == 2) memcpy(value, &at, sizeof at);
    else memcpy(value, (const char *)a->x + (first + best * step) * (int64_t)item, item);
  } else if (dtype == ISO_F32) {
    const float y = scan_f32(p->fn, (const float *)a->x + first, step, steps);
    memcpy(value, &y, sizeof y);
  } else if (dtype == ISO_F64) {
    const double y = scan_f64(p->fn, (const double *)a->x + first, step, steps);
    memcpy(value, &y, sizeof y);
  } else {
    const int64_t y = whole_scan(p, a->x, first, step, steps);
    memcpy(value, &y, sizeof y);
  }
  return true;
}
