/* reference.c: class `lanes` of softmax and log-softmax: one output element from its index. */
#include <math.h>
#include "kernels/softmax/softmax.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/softmax/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/softmax/reference_body.h"

ISO__HD bool iso__softmax_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                  void *value) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)problem;
  (void)operand; /* one output */
  if (problem->dtype == ISO_F64) {
    const double y = element_f64(p, (const iso_softmax_args *)args, index);
    memcpy(value, &y, sizeof y);
  } else {
    const float y = element_f32(p, (const iso_softmax_args *)args, index);
    memcpy(value, &y, sizeof y);
  }
  return true;
}
