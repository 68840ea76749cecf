/* linalg_impl.h: all factorisations for one instruction set, which names its export by ISA(name). The compiler makes
 * vectors of the rows' loops: every element's operations are written, so it can't change a bit. */
#include <math.h>
#include "base/pool.h"
#include "kernels/linalg/linalg.h"
#include "numeric/order.h"

#include "numeric/real_f32.h"
#define UNIT_ROUNDOFF 0x1p-24f
#include "kernels/linalg/factor_body.h"
#include "kernels/linalg/qr_body.h"
#include "kernels/linalg/jacobi_body.h"
#include "kernels/linalg/item_body.h"
#undef UNIT_ROUNDOFF
#include "numeric/real_f64.h"
#define UNIT_ROUNDOFF 0x1p-53
#include "kernels/linalg/factor_body.h"
#include "kernels/linalg/qr_body.h"
#include "kernels/linalg/jacobi_body.h"
#include "kernels/linalg/item_body.h"
#undef UNIT_ROUNDOFF

static void items(void *arg, int64_t begin, int64_t end, int thread) {
  const iso__call *call = arg;
  const iso_linalg_problem *p = (const iso_linalg_problem *)call->problem;
  void *scratch = (char *)call->workspace + (size_t)thread * iso__linalg_item_bytes(call->problem);
  for (int64_t i = begin; i < end; i++)
    if (p->head.dtype == ISO_F64) item_f64(p, call->args, i, scratch);
    else item_f32(p, call->args, i, scratch);
}

void ISA(iso__linalg_run)(const iso__call *call);
void ISA(iso__linalg_run)(const iso__call *call) {
  const iso_linalg_problem *p = (const iso_linalg_problem *)call->problem;
  const double flops =
      iso__the_registry.operators[p->head.op]->flops(call->problem) / (double)(p->batch ? p->batch : 1);
  const int64_t grain = flops > 50000 ? 1 : (int64_t)(50000 / (flops + 1)) + 1;
  iso__parallel_range(call->ctx, p->batch, grain, 1, items, (void *)(uintptr_t)call);
}
