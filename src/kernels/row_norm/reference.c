/* reference.c: row normalisation, classes `lanes` (forward, input gradient) and `ordered` (parameter gradients): one
 * output element from its index. */
#include <math.h>
#include "kernels/row_norm/row_norm.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/row_norm/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/row_norm/reference_body.h"

ISO__HD bool iso__row_norm_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                   void *value) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)problem;
  if (problem->dtype == ISO_F64) {
    const double y = element_f64(p, (const iso_row_norm_args *)args, operand, index);
    memcpy(value, &y, sizeof y);
  } else {
    const float y = element_f32(p, (const iso_row_norm_args *)args, operand, index);
    memcpy(value, &y, sizeof y);
  }
  return true;
}
