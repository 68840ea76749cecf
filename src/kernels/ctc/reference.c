/* reference.c: class `ctc`: whole samples, frame by frame as ctc.h says. */
#include <math.h>
#include "kernels/ctc/ctc.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/ctc/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/ctc/reference_body.h"

size_t iso__ctc_reference_workspace(const iso__problem *problem, int n_threads) {
  const iso_ctc_problem *p = (const iso_ctc_problem *)problem;
  (void)n_threads;
  return problem->op == ISO__OP_CTC_FWD ? 0 : (size_t)(4 * (p->s + 2)) * sizeof(double);
}
void iso__ctc_reference_run(const iso__call *call) {
  if (call->problem->dtype == ISO_F64) run_f64(call);
  else run_f32(call);
}
