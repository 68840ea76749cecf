/* reference.c: class `ordered` of recurrences: whole samples, step by step as recurrent.h says. */
#include <math.h>
#include "kernels/recurrent/recurrent.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#include "kernels/recurrent/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/recurrent/reference_body.h"

void iso__recurrent_reference_run(const iso__call *call) {
  if (call->problem->dtype == ISO_F64) run_f64(call);
  else run_f32(call);
}
