/* reference.c: classes `ordered`, `extremum` and `last` of scatters, `ordered` and `extremum` of segments: one output
 * element from its index. */
#include <math.h>
#include "kernels/scatter/scatter.h"
#include "numeric/dtype.h"
#include "numeric/order.h"

/* The rows that are in a segment, at least 1. */
static ISO__HD int64_t present(const iso_segment_problem *p, const iso_segment_args *a, int64_t s) {
  int64_t count = 0;
  for (int64_t k = iso__segment_begin(p, a, s); k < iso__segment_end(p, a, s); k++)
    count += (p->has_index ? a->index[k] : k) != p->skip - 1;
  return count ? count : 1;
}

#define BODY "kernels/scatter/combine_body.h"
#include "kernels/scatter/types.h"
#define BODY "kernels/scatter/reference_body.h"
#include "kernels/scatter/types.h"

/* The last contribution's bits. */
static ISO__HD void last(const iso_scatter_problem *p, const iso_scatter_args *a, int64_t at, void *value) {
  const size_t item = iso__dtype_size((iso_dtype)p->head.dtype);
  const int64_t i = at % p->inner, d = at / p->inner % p->extent, o = at / p->inner / p->extent;
  if (p->base) memcpy(value, (const char *)a->base + (size_t)at * item, item);
  else memset(value, 0, item);
  for (int64_t k = 0; k < p->n; k++) {
    if (a->index[p->each ? (o * p->n + k) * p->inner + i : k] != d) continue;
    const int64_t row = o * (p->sources ? p->sources : p->n) + iso__scatter_source(p, a, k);
    memcpy(value, (const char *)a->x + (size_t)(row * p->inner + i) * item, item);
  }
}

ISO__HD bool iso__scatter_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                  void *value) {
  if (problem->op == ISO__OP_SCATTER && ((const iso_scatter_problem *)problem)->fn == ISO__SCATTER_SET)
    return last((const iso_scatter_problem *)problem, (const iso_scatter_args *)args, index, value), true;
  const iso_segment_problem *s = (const iso_segment_problem *)problem; /* x, offsets, index, scale, y, at or count */
  const int output = problem->op == ISO__OP_SEGMENT ? operand - (1 + !s->each + s->has_index + s->has_scale) : 0;
  switch (problem->dtype) {
  case ISO_F32: element_f32(problem, args, index, output, value); break;
  case ISO_F64: element_f64(problem, args, index, output, value); break;
  case ISO_I64: element_i64(problem, args, index, output, value); break;
  case ISO_I32: element_i32(problem, args, index, output, value); break;
  default: element_u8(problem, args, index, output, value); break;
  }
  return true;
}
