/* reference.c: sampling at a grid: one element of y or of the grid's gradient from its index; the input's gradient as a
 * whole, since an input's points are found only by visiting all. */
#include "kernels/grid/grid.h"
#include "numeric/order.h"
#include <math.h>

#include "numeric/real_f32.h"
#include "kernels/grid/site.h"
#include "kernels/grid/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/grid/site.h"
#include "kernels/grid/reference_body.h"

ISO__HD bool iso__grid_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_grid_problem *p = (const iso_grid_problem *)problem;
  (void)operand; /* one output */
  if (problem->dtype == ISO_F64) element_f64(p, (const iso_grid_args *)args, index, value);
  else element_f32(p, (const iso_grid_args *)args, index, value);
  return true;
}
size_t iso__grid_bwd_input_reference_workspace(const iso__problem *problem, int n_threads) {
  const iso_grid_problem *p = (const iso_grid_problem *)problem;
  (void)n_threads;
  return (size_t)(iso__grid_places(p) * p->c) *
         (problem->dtype == ISO_F64 ? sizeof(struct iso__ordered_f64) : sizeof(struct iso__ordered_f32));
}
void iso__grid_bwd_input_reference(const iso__call *call) {
  if (call->problem->dtype == ISO_F64) bwd_input_f64(call);
  else bwd_input_f32(call);
}
