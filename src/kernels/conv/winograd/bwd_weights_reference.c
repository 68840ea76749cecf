/* bwd_weights_reference.c: the weights' gradient in the Winograd classes, one element at a time: their specification
 * (docs/numerics-winograd.md). */
#include "kernels/conv/winograd/winograd.h"
#include "numeric/order.h"
#include <math.h>

#include "numeric/real_f32.h"
#include "kernels/conv/winograd/transforms_real.h"
#include "kernels/conv/winograd/bwd_weights_reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/conv/winograd/transforms_real.h"
#include "kernels/conv/winograd/bwd_weights_reference_body.h"

/* Stride and dilation of 1, a square kernel of the class's size, anything at all to be done. */
static const char *applicable(const iso__problem *problem, int64_t kernel) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const char *reason = iso__conv_plain_applicable(problem);
  if (reason) return reason;
  if (p->r != kernel || p->s != kernel) return kernel == 3 ? "the kernel is not 3×3" : "the kernel is not 5×5";
  if (p->stride_h != 1 || p->stride_w != 1) return "Winograd knows stride 1 only";
  if (p->dilation_h != 1 || p->dilation_w != 1) return "Winograd knows dilation 1 only";
  if (!p->n || !iso__conv_out_h(p) || !iso__conv_out_w(p) || !p->c || !p->k) return "a tensor is empty";
  return NULL;
}
const char *iso__wino_bwd_weights_applicable_k3(const iso__problem *problem);
const char *iso__wino_bwd_weights_applicable_k5(const iso__problem *problem);
const char *iso__wino_bwd_weights_applicable_k3(const iso__problem *problem) { return applicable(problem, 3); }
const char *iso__wino_bwd_weights_applicable_k5(const iso__problem *problem) { return applicable(problem, 5); }

#define ELEMENT(class, m, r)                                                                                           \
  bool iso__wino_bwd_weights_element_##class(const iso__problem *problem, const void *args, int operand,               \
                                             int64_t index, void *value);                                              \
  bool iso__wino_bwd_weights_element_##class(const iso__problem *problem, const void *args, int operand,               \
                                             int64_t index, void *value) {                                             \
    (void)operand;                                                                                                     \
    const iso_conv_problem *p = (const iso_conv_problem *)problem;                                                     \
    if (problem->dtype == ISO_F64) *(double *)value = bwd_weights_f64(&class_##class##_f64, p, args, index);           \
    else *(float *)value = bwd_weights_f32(&class_##class##_f32, p, args, index);                                      \
    return true;                                                                                                       \
  }
ISO__WINOGRAD_CLASSES(ELEMENT)
