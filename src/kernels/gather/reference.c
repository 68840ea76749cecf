/* reference.c: class `map` of gather: one element of y from its index. */
#include "kernels/gather/gather.h"
#include "numeric/dtype.h"

ISO__HD bool iso__gather_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                 void *value) {
  const iso_gather_problem *p = (const iso_gather_problem *)problem;
  const iso_gather_args *a = (const iso_gather_args *)args;
  const int64_t i = index % p->inner, k = index / p->inner % p->n, o = index / p->inner / p->n;
  const int64_t from = a->index[p->each ? index : k];
  const size_t item = iso__dtype_size((iso_dtype)problem->dtype);
  (void)operand; /* y is the only output */
  memcpy(value, (const char *)a->x + (size_t)((o * p->extent + from) * p->inner + i) * item, item);
  return true;
}
