/* reference.c: class `lanes` of cross entropy: one output element from its index. */
#include <math.h>
#include "kernels/loss/loss.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/loss/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/loss/reference_body.h"

ISO__HD bool iso__cross_entropy_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                        void *value) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)problem;
  if (problem->dtype == ISO_F64) {
    const double y = element_f64(p, (const iso_cross_entropy_args *)args, operand, index);
    memcpy(value, &y, sizeof y);
  } else {
    const float y = element_f32(p, (const iso_cross_entropy_args *)args, operand, index);
    memcpy(value, &y, sizeof y);
  }
  return true;
}
