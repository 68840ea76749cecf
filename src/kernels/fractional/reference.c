/* reference.c: fractional max pooling, class `extremum`: one output element from its index. Where the windows of a
 * channel lie depends on its samples alone, so an element costs its window and nothing more: there is no engine
 * beside it. */
#include "kernels/fractional/fractional.h"
#include "numeric/order.h"
#include <math.h>

#include "numeric/real_f32.h"
#include "kernels/fractional/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/fractional/reference_body.h"

ISO__HD bool iso__fractional_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                     void *value) {
  const iso_fractional_problem *p = (const iso_fractional_problem *)problem;
  if (problem->dtype == ISO_F64) element_f64(p, (const iso_fractional_args *)args, operand, index, value);
  else element_f32(p, (const iso_fractional_args *)args, operand, index, value);
  return true;
}
