/* segment_impl.h: sums, products and extrema of listed rows, segment by segment (bags of embeddings); included once per
 * instruction set, which names its exports by ISA(name) and whose vectors the compiler makes of the loops over columns.
 * Accumulators stay in L1; threads share segments and blocks of columns. */
#include <math.h>
#include "base/pool.h"
#include "kernels/scatter/engines.h"
#include "numeric/order.h"

enum { BLOCK_COLUMNS = 1024, NARROW_COLUMNS = 128, GRAIN_ELEMENTS = 16384 };

typedef struct job {
  const iso_segment_problem *p;
  const iso_segment_args *a;
  int64_t n_blocks, block;
} job;

#define BODY "kernels/scatter/combine_body.h"
#include "kernels/scatter/types.h"
#define BODY "kernels/scatter/join_body.h"
#include "kernels/scatter/types.h"
#define BODY "kernels/scatter/rows_body.h"
#include "kernels/scatter/types.h"
#define BODY "kernels/scatter/segment_body.h"
#include "kernels/scatter/types.h"

/* Units begin … end−1 of (segments, blocks of columns). */
static void run_units(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  while (begin < end) {
    const int64_t s = begin / j->n_blocks, column = begin % j->n_blocks * j->block;
    const int64_t m = iso__min(j->block, j->p->inner - column), last = j->n_blocks == 1 ? end : s + 1;
    switch (j->p->head.dtype) {
    case ISO_F32: segments_f32(j, s, last, column, m); break;
    case ISO_F64: segments_f64(j, s, last, column, m); break;
    case ISO_I64: segments_i64(j, s, last, column, m); break;
    case ISO_I32: segments_i32(j, s, last, column, m); break;
    default: segments_u8(j, s, last, column, m); break;
    }
    begin = j->n_blocks == 1 ? end : begin + 1;
  }
}

void ISA(iso__segment_run)(const iso__call *call) {
  const iso_segment_problem *p = (const iso_segment_problem *)call->problem;
  job j = {.p = p, .a = call->args};
  if (p->segments == 0 || (p->inner == 0 && !p->has_count)) return;
  j.block = p->segments < 8 * iso_n_threads(call->ctx) ? NARROW_COLUMNS : BLOCK_COLUMNS;
  j.n_blocks = iso__max(1, iso__ceil_div(p->inner, j.block));
  const int64_t per_unit = iso__max(1, p->n / p->segments) * iso__max(1, iso__min(j.block, p->inner));
  iso__parallel_range(call->ctx, p->segments * j.n_blocks, iso__ceil_div(GRAIN_ELEMENTS, per_unit), 1, run_units, &j);
}
