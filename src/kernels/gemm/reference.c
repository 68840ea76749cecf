/* reference.c: class `ordered` of C = epilogue(alpha·op(A)·op(B) + beta·C): one element, as NUMERICS §2 and §4 say. */
#include "kernels/gemm/gemm.h"
#include "numeric/order.h"

/* Where element `index` of C lies: false for a hole between rows or batch items. */
static bool locate(const iso_gemm_problem *p, int64_t index, int64_t *item, int64_t *row, int64_t *column) {
  *item = p->batch > 1 ? index / p->batch_stride_c : 0;
  if (*item >= p->batch) *item = p->batch - 1;
  const int64_t within = index - *item * p->batch_stride_c;
  *row = within / p->ldc, *column = within % p->ldc;
  return *row < p->m && *column < p->n;
}

#define ELEMENT(name, type, dot)                                                                                       \
  static type name(const iso_gemm_problem *p, const iso_gemm_args *args, int64_t item, int64_t i, int64_t j) {         \
    const type *a = (const type *)args->a + item * p->batch_stride_a + i * (p->trans_a ? 1 : p->lda);                  \
    const type *b = (const type *)args->b + item * p->batch_stride_b + j * (p->trans_b ? p->ldb : 1);                  \
    const type c = p->has_beta ? ((const type *)args->c)[item * p->batch_stride_c + i * p->ldc + j] : 0;               \
    type t = dot(a, (ptrdiff_t)(p->trans_a ? p->lda : 1), b, (ptrdiff_t)(p->trans_b ? 1 : p->ldb), (size_t)p->k);      \
    if (p->has_alpha) t = (type)args->alpha * t;                                                                       \
    if (p->has_beta) {                                                                                                 \
      const type product = (type)args->beta * c;                                                                       \
      t = t + product;                                                                                                 \
    }                                                                                                                  \
    if (p->has_bias) t = t + ((const type *)args->bias)[j];                                                            \
    if (p->activation == ISO__ACTIVATION_RELU) t = t > 0 ? t : t != t ? t : 0;                                         \
    return t;                                                                                                          \
  }
ELEMENT(element_f32, float, iso__ordered_dot_f32)
ELEMENT(element_f64, double, iso__ordered_dot_f64)

bool iso__gemm_ordered_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  int64_t item, row, column;
  (void)operand; /* C is the only output */
  if (!locate(p, index, &item, &row, &column)) return false;
  if (problem->dtype == ISO_F64) *(double *)value = element_f64(p, args, item, row, column);
  else *(float *)value = element_f32(p, args, item, row, column);
  return true;
}
