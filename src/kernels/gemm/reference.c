/* reference.c: class `ordered` of C = epilogue(alpha·op(A)·op(B) + beta·C): one element (reference_body.h). f16 and
 * bf16 are widened, computed as f32 and rounded once. */
#include <math.h>
#include "kernels/gemm/gemm.h"
#include "numeric/half.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"

/* Where element `index` of C lies: false for a hole between rows or batch items. */
static ISO__HD bool locate(const iso_gemm_problem *p, int64_t index, int64_t *item, int64_t *row, int64_t *column) {
  *item = p->batch > 1 ? index / p->batch_stride_c : 0;
  if (*item >= p->batch) *item = p->batch - 1;
  const int64_t within = index - *item * p->batch_stride_c;
  *row = within / p->ldc, *column = within % p->ldc;
  return *row < p->m && *column < p->n;
}

static ISO__HD float load(uint8_t dtype, const void *x, int64_t i) {
  switch (dtype) {
  case ISO_F16: return iso__f32_from_f16(((const uint16_t *)x)[i]);
  case ISO_BF16: return iso__f32_from_bf16(((const uint16_t *)x)[i]);
  default: return ((const float *)x)[i];
  }
}

#include "numeric/real_f32.h"
#define LOAD(x, i) load(p->head.dtype, x, i)
#include "kernels/gemm/reference_body.h"
#undef LOAD
#include "numeric/real_f64.h"
#define LOAD(x, i) ((const double *)(x))[i]
#include "kernels/gemm/reference_body.h"
#undef LOAD

ISO__HD bool iso__gemm_ordered_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                       void *value) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  int64_t item, row, column;
  (void)operand; /* C is the only output */
  if (!locate(p, index, &item, &row, &column)) return false;
  if (problem->dtype == ISO_F64) {
    *(double *)value = element_f64(p, (const iso_gemm_args *)args, item, row, column);
    return true;
  }
  const float y = element_f32(p, (const iso_gemm_args *)args, item, row, column);
  if (problem->dtype == ISO_F16) *(uint16_t *)value = iso__f16_from_f32(y);
  else if (problem->dtype == ISO_BF16) *(uint16_t *)value = iso__bf16_from_f32(y);
  else *(float *)value = y;
  return true;
}
