/* reference.c: the class `ordered` of the three convolution operators, one output element at a time (NUMERICS §2, §4).
 *
 * These functions are the specification: every engine of the class gives their bits. */
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "numeric/order.h"
#include <math.h>

ISO__HD bool iso__conv_fwd_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                   void *value);
ISO__HD bool iso__conv_bwd_data_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                        void *value);
ISO__HD bool iso__conv_bwd_weights_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                           void *value);

#include "numeric/real_f32.h"
#include "kernels/conv/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/conv/reference_body.h"

ISO__HD bool iso__conv_fwd_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                   void *value) {
  (void)operand;
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (problem->dtype == ISO_F64) *(double *)value = fwd_f64(p, (const iso_conv_args *)args, index);
  else *(float *)value = fwd_f32(p, (const iso_conv_args *)args, index);
  return true;
}

ISO__HD bool iso__conv_bwd_data_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                        void *value) {
  (void)operand;
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (problem->dtype == ISO_F64) *(double *)value = bwd_data_f64(p, (const iso_conv_args *)args, index);
  else *(float *)value = bwd_data_f32(p, (const iso_conv_args *)args, index);
  return true;
}

ISO__HD bool iso__conv_bwd_weights_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                           void *value) {
  (void)operand;
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (problem->dtype == ISO_F64) *(double *)value = bwd_weights_f64(p, (const iso_conv_args *)args, index);
  else *(float *)value = bwd_weights_f32(p, (const iso_conv_args *)args, index);
  return true;
}
