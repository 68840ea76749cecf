/* reference.c: interpolation and its gradient, class `ordered`: one element from its index. */
#include "kernels/resample/taps.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/resample/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/resample/reference_body.h"

ISO__HD bool iso__resample_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                   void *value) {
  const iso_resample_problem *p = (const iso_resample_problem *)problem;
  (void)operand; /* one output */
  if (problem->dtype == ISO_F64) element_f64(p, (const iso_resample_args *)args, index, value);
  else element_f32(p, (const iso_resample_args *)args, index, value);
  return true;
}
