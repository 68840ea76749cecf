/* reference.c: class `attention.k64`: one output element of attention, forward and backward, from its index. */
#include <math.h>
#include "kernels/attention/attention.h"
#include "numeric/half.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"
#include "numeric/philox.h"

/* Where an output element lies in its operand. */
struct place {
  int64_t b, h, row, column;
};
enum result { RESULT_O, RESULT_LSE, RESULT_DQ, RESULT_DK, RESULT_DV, RESULT_DS };

#include "numeric/real_f32.h"
#include "kernels/attention/reference_body.h"
#include "kernels/attention/reference_elements.h"
#include "numeric/real_f64.h"
#include "kernels/attention/reference_body.h"
#include "kernels/attention/reference_elements.h"

/* The coordinates of an element of a strided operand, by descending stride; false in a hole between them. */
static ISO__HD bool place_of(const iso__attention_strides *t, int64_t batch, int64_t heads, int64_t rows,
                             int64_t columns, int64_t index, struct place *at) {
  const int64_t extent[3] = {batch, heads, rows}, stride[3] = {t->batch, t->head, t->row};
  int64_t place[3] = {0, 0, 0};
  bool done[3] = {extent[0] <= 1, extent[1] <= 1, extent[2] <= 1};
  for (int turn = 0; turn < 3; turn++) {
    int most = -1;
    for (int i = 0; i < 3; i++)
      if (!done[i] && (most < 0 || stride[i] > stride[most])) most = i;
    if (most < 0) break;
    place[most] = index / stride[most], index %= stride[most], done[most] = true;
    if (place[most] >= extent[most]) return false;
  }
  at->b = place[0], at->h = place[1], at->row = place[2], at->column = index;
  return index < columns;
}

/* Which result operand number `operand` is: outputs come last, in the order of enum result. */
static ISO__HD enum result result_of(const iso_attention_problem *p, int operand) {
  const int n_inputs = 3 + (p->mask != ISO__MASK_NONE) + (p->lengths & ISO__KEY_LENGTHS ? 1 : 0) +
                       (p->lengths & ISO__QUERY_LENGTHS ? 1 : 0);
  if (p->head.op == ISO__OP_ATTENTION_FWD) return operand == n_inputs ? RESULT_O : RESULT_LSE;
  return (enum result)((int)RESULT_DQ + operand - n_inputs - 3);
}

ISO__HD bool iso__attention_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                    void *value) {
  const iso_attention_problem *p = (const iso_attention_problem *)problem;
  const enum result what = result_of(p, operand);
  const int64_t shared = p->heads / p->group;
  struct place at;
  switch (what) {
  case RESULT_O:
    if (!place_of(&p->o, p->batch, p->heads, p->l, p->f, index, &at)) return false;
    break;
  case RESULT_DQ:
    if (!place_of(&p->dq, p->batch, p->heads, p->l, p->e, index, &at)) return false;
    break;
  case RESULT_DK:
    if (!place_of(&p->dk, p->batch, shared, p->s, p->e, index, &at)) return false;
    break;
  case RESULT_DV:
    if (!place_of(&p->dv, p->batch, shared, p->s, p->f, index, &at)) return false;
    break;
  default: {
    const int64_t columns = what == RESULT_LSE ? 1 : p->s, row = index / columns;
    at.b = row / (p->heads * p->l), at.h = row / p->l % p->heads, at.row = row % p->l, at.column = index % columns;
    if (what == RESULT_LSE) at.column = 0;
  }
  }
  if (problem->dtype == ISO_F64) element_f64(p, (const iso_attention_args *)args, what, &at, value);
  else element_f32(p, (const iso_attention_args *)args, what, &at, value);
  return true;
}
