/* reference.c: class `move`: an element picked, or the last one put, by its index; class `ordered`: sums of what goes
 * to each place, whole planes at a time, since looking for one place's contributions takes as long as for all. */
#include "kernels/unpool/unpool.h"
#include "numeric/dtype.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/unpool/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/unpool/reference_body.h"

ISO__HD bool iso__unpool_pick_element(const iso__problem *problem, const void *args, int operand, int64_t i,
                                      void *value) {
  const iso_unpool_problem *p = (const iso_unpool_problem *)problem;
  const iso_unpool_args *a = (const iso_unpool_args *)args;
  const size_t item = iso__dtype_size((iso_dtype)problem->dtype);
  (void)operand; /* v is the only output */
  const int64_t image = i / p->c / p->picks, from = (image * p->places + a->index[i]) * p->c + i % p->c;
  memcpy(value, (const char *)a->in + (size_t)from * item, item);
  return true;
}

void iso__unpool_put_reference(const iso__call *call) {
  if (call->problem->dtype == ISO_F64) put_f64(call);
  else put_f32(call);
}

size_t iso__unpool_add_reference_workspace(const iso__problem *problem, int n_threads) {
  const iso_unpool_problem *p = (const iso_unpool_problem *)problem;
  (void)n_threads;
  return (size_t)p->places *
         (problem->dtype == ISO_F64 ? sizeof(struct iso__ordered_f64) : sizeof(struct iso__ordered_f32));
}
void iso__unpool_add_reference(const iso__call *call) {
  if (call->problem->dtype == ISO_F64) add_f64(call);
  else add_f32(call);
}
