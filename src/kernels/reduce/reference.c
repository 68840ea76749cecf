/* reference.c: classes `lanes` (rows), `ordered` (columns) and `extremum` (both): one reduced element from its index.
 */
#include "kernels/reduce/reduce.h"
#include "numeric/order.h"

#define REAL float
#define NAMED(f) f##_f32
#include "kernels/reduce/reference_body.h"
#undef REAL
#undef NAMED
#define REAL double
#define NAMED(f) f##_f64
#include "kernels/reduce/reference_body.h"

bool iso__reduce_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  const iso_reduce_args *a = args;
  (void)operand; /* y is the only output */
  if (problem->dtype == ISO_F64) element_f64(p, a->x, index, value);
  else element_f32(p, a->x, index, value);
  return true;
}
