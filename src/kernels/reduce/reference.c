/* reference.c: classes `lanes` (rows), `ordered` (columns), `extremum` and `integer` (both): one reduced element from
 * its index. */
#include <math.h>
#include "kernels/reduce/reduce.h"
#include "numeric/dtype.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/reduce/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/reduce/reference_body.h"

/* ---- integers and truths ---- */

static ISO__HD int64_t whole_at(const iso_reduce_problem *p, const void *x, int64_t at) {
  int64_t value;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  iso__cast_element((const char *)x + (size_t)at * iso__dtype_size(dtype), dtype, &value, ISO_I64);
  return value;
}
static ISO__HD bool truth_at(const iso_reduce_problem *p, const void *x, int64_t at) {
  uint8_t value;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  iso__cast_element((const char *)x + (size_t)at * iso__dtype_size(dtype), dtype, &value, ISO_BOOL);
  return value != 0;
}

static ISO__HD int64_t count_truths(const iso_reduce_problem *p, const void *x, int64_t first) {
  int64_t count = 0;
  for (int64_t k = 0; k < p->n; k++) count += truth_at(p, x, first + k * p->inner);
  return count;
}
/* Wraps in 64 bits. */
static ISO__HD int64_t whole_sum(const iso_reduce_problem *p, const void *x, int64_t first) {
  uint64_t y = p->fn == ISO__REDUCE_PROD;
  for (int64_t k = 0; k < p->n; k++) {
    const uint64_t v = (uint64_t)whole_at(p, x, first + k * p->inner);
    y = p->fn == ISO__REDUCE_PROD ? y * v : y + v;
  }
  return (int64_t)y;
}
static ISO__HD int64_t whole_extremum(const iso_reduce_problem *p, const void *x, int64_t first) {
  int64_t best = 0;
  for (int64_t k = 1; k < p->n; k++) {
    const int64_t v = whole_at(p, x, first + k * p->inner), b = whole_at(p, x, first + best * p->inner);
    if (iso__reduce_is_largest((iso__reduce_fn)p->fn) ? v > b : v < b) best = k;
  }
  return best;
}

ISO__HD bool iso__reduce_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                 void *value) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  const iso_reduce_args *a = (const iso_reduce_args *)args;
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t first = index / p->inner * p->n * p->inner + index % p->inner;
  int64_t y;
  if (iso__reduce_is_truth(fn)) {
    y = count_truths(p, a->x, first);
    if (fn != ISO__REDUCE_COUNT) y = fn == ISO__REDUCE_ANY ? y > 0 : y == p->n;
  } else if (!iso__reduce_is_whole(dtype)) {
    if (dtype == ISO_F64) element_f64(p, a, operand, index, value);
    else element_f32(p, a, operand, index, value);
    return true;
  } else if (iso__reduce_is_sum(fn)) {
    y = whole_sum(p, a->x, first);
  } else {
    const int64_t at = whole_extremum(p, a->x, first);
    y = iso__reduce_is_index(fn) || operand == 2 ? at : whole_at(p, a->x, first + at * p->inner);
  }
  iso__cast_element(&y, ISO_I64, value, operand == 2 ? ISO_I64 : iso__reduce_result(fn, dtype));
  return true;
}
