/* channels_impl.h: interpolation and its gradient over vectors of channels, f32 and f64; included once per instruction
 * set, which names its exports by ISA(name).
 *
 * Both directions are one loop: an element of the result is the weighted sum over the product of three lists (taps.h).
 * A task takes a range of rows, numbered through all planes. */
#include "base/pool.h"
#include "kernels/resample/taps.h"
#include "kernels/sizes.h"
#include "numeric/order.h"
#include "numeric/vec.h"
#include <math.h>

enum { GRAIN_TERMS = 32768, BLOCK = 64 };

typedef struct job {
  const iso_resample_problem *p;
  const iso_resample_args *a;
  iso__taps taps[3];
  int64_t from[3], to[3]; /* extents of the operand and of the result */
} job;

#include "numeric/real_f32.h"
#include "kernels/resample/element_body.h"
#include "kernels/resample/channels_f32.h"
#include "kernels/resample/channels_body.h"
#include "numeric/real_f64.h"
#include "kernels/resample/element_body.h"
#include "kernels/resample/channels_f64.h"
#include "kernels/resample/channels_body.h"

static void run_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  for (int64_t row = begin; row < end; row++)
    if (j->p->head.dtype == ISO_F64) row_f64(j, row);
    else row_f32(j, row);
}

void ISA(iso__resample_channels_run)(const iso__call *call) {
  const iso_resample_problem *p = (const iso_resample_problem *)call->problem;
  const bool backward = p->head.op == ISO__OP_RESAMPLE_BWD;
  job j = {.p = p, .a = call->args};
  int64_t terms = p->c;
  for (int d = 0; d < 3; d++) {
    j.from[d] = backward ? p->axis[d].out : p->axis[d].in;
    j.to[d] = backward ? p->axis[d].in : p->axis[d].out;
  }
  if (p->n == 0 || p->c == 0) return;
  iso__resample_taps(p, call->workspace, j.taps);
  for (int d = 0; d < 3; d++) terms *= j.taps[d].longest;
  terms = iso__max(iso__min(terms, GRAIN_TERMS) * j.to[2], 1);
  iso__parallel_range(call->ctx, p->n * j.to[0] * j.to[1], iso__max(GRAIN_TERMS / terms, 1), 1, run_rows, &j);
}
