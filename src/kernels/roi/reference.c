/* reference.c: classes `ordered` and `extremum` of regions of interest: one output element from its index. */
#include <math.h>
#include "kernels/roi/roi.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/roi/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/roi/reference_body.h"

bool iso__roi_align_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_roi_problem *p = (const iso_roi_problem *)problem;
  const bool forward = problem->op == ISO__OP_ROI_ALIGN_FWD;
  (void)operand; /* one output */
  if (problem->dtype == ISO_F64) {
    const double v = forward ? bin_mean_f64(p, args, index) : gradient_at_f64(p, args, index);
    memcpy(value, &v, sizeof v);
  } else {
    const float v = forward ? bin_mean_f32(p, args, index) : gradient_at_f32(p, args, index);
    memcpy(value, &v, sizeof v);
  }
  return true;
}

bool iso__roi_pool_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_roi_problem *p = (const iso_roi_problem *)problem;
  (void)operand; /* one output */
  const int64_t v = problem->dtype == ISO_F64 ? largest_at_f64(p, args, index) : largest_at_f32(p, args, index);
  memcpy(value, &v, sizeof v);
  return true;
}
