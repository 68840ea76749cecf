/* reference.c: classes `lanes` (rows), `ordered` (columns) and `extremum` (both): one reduced element from its index.
 */
#include "kernels/reduce/reduce.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/reduce/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/reduce/reference_body.h"

bool iso__reduce_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  const iso_reduce_args *a = args;
  (void)operand; /* y is the only output */
  if (problem->dtype == ISO_F64) element_f64(p, a->x, index, value);
  else element_f32(p, a->x, index, value);
  return true;
}
