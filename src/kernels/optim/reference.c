/* reference.c: class `map` of the optimisers' steps: one parameter's new value, or its state's, from its index. */
#include <math.h>
#include "kernels/optim/optim.h"
#include "numeric/hd.h"

#include "numeric/real_f32.h"
#include "kernels/optim/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/optim/reference_body.h"

ISO__HD bool iso__optim_element(const iso__problem *problem, const void *args, int operand, int64_t index,
                                void *value) {
  const iso_optim_problem *p = (const iso_optim_problem *)problem;
  int state = -1, at = 1 + p->has_scale; /* outputs after g and grad_scale: p, then the states that there are */
  while (at < operand) at += iso__optim_has(p, ++state);
  if (problem->dtype == ISO_F64) {
    const element_f64 e = step_f64(p, (const iso_optim_args *)args, index);
    memcpy(value, state < 0 ? &e.p : &e.state[state], sizeof e.p);
  } else {
    const element_f32 e = step_f32(p, (const iso_optim_args *)args, index);
    memcpy(value, state < 0 ? &e.p : &e.state[state], sizeof e.p);
  }
  return true;
}
