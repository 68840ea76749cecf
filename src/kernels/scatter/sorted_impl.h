/* sorted_impl.h: scatters by a stable sort of the destinations; included once per instruction set, which names its
 * exports by ISA(name) and whose vectors the compiler makes of the loops over columns.
 *
 * Grouped by destination, every row of y is written once, after its contributions were added up in L1 in the order of
 * the contract, so no thread needs to know of another's. Threads share destinations, cut where the work is equal, and
 * columns where there are few destinations. y may be most of the memory (the gradient of an embedding): rows that
 * nothing reaches are cleared in runs. */
#include <math.h>
#include "base/pool.h"
#include "kernels/scatter/engines.h"
#include "numeric/order.h"

enum { BLOCK_COLUMNS = 1024, NARROW_COLUMNS = 128, MOST_TASKS = 64, SHARED_ELEMENTS = 32768 };

typedef struct job {
  const iso_scatter_problem *p;
  const iso_scatter_args *a;
  iso__scatter_sort sort;
  iso__row_list list; /* first and n are set per destination */
  int64_t inner, x_offset, y_offset;
  int64_t n_cuts, n_blocks, block; /* tasks: cuts of the destinations × blocks of columns */
} job;

#define BODY "kernels/scatter/combine_body.h"
#include "kernels/scatter/types.h"
#define BODY "kernels/scatter/join_body.h"
#include "kernels/scatter/types.h"
#define BODY "kernels/scatter/rows_body.h"
#include "kernels/scatter/types.h"
#define BODY "kernels/scatter/sorted_body.h"
#include "kernels/scatter/types.h"

static void run_task(void *arg, int task, int thread) {
  const job *j = arg;
  const int64_t cut = task / j->n_blocks, column = task % j->n_blocks * j->block;
  const int64_t m = iso__min(j->block, j->inner - column), slot_work = j->p->base ? 2 : 1;
  const int64_t d0 = iso__scatter_sort_cut(&j->sort, cut, j->n_cuts, slot_work);
  const int64_t d1 = iso__scatter_sort_cut(&j->sort, cut + 1, j->n_cuts, slot_work);
  (void)thread;
  switch (j->p->head.dtype) {
  case ISO_F32: destinations_f32(j, d0, d1, column, m); break;
  case ISO_F64: destinations_f64(j, d0, d1, column, m); break;
  case ISO_I64: destinations_i64(j, d0, d1, column, m); break;
  case ISO_I32: destinations_i32(j, d0, d1, column, m); break;
  default: destinations_u8(j, d0, d1, column, m); break;
  }
}

void ISA(iso__scatter_sorted_run)(const iso__call *call) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)call->problem;
  job j = {.p = p, .a = call->args, .inner = p->each ? 1 : p->inner};
  if (p->outer == 0 || p->inner == 0 || p->extent == 0) return;
  iso__scatter_sort_place(p, call->workspace, &j.sort);
  iso__scatter_sort_run(p, j.a->index, &j.sort);
  j.list = (iso__row_list){.order = j.sort.order,
                           .source = p->sources ? j.a->source : NULL,
                           .scale = p->has_scale ? j.a->scale : NULL,
                           .skip = -1};
  const int64_t rows = p->sources ? p->sources : p->n, n_outer = p->each ? 1 : p->outer;
  const int64_t work = (j.sort.n_items + j.sort.n_slots) * j.inner;
  const int n_threads = work < SHARED_ELEMENTS ? 1 : iso_n_threads(call->ctx);
  j.n_cuts = n_threads == 1 ? 1 : iso__min(iso__min(MOST_TASKS, 4 * n_threads), j.sort.n_slots);
  j.block = n_threads > 1 && j.n_cuts < 2 * n_threads ? NARROW_COLUMNS : BLOCK_COLUMNS;
  j.n_blocks = iso__ceil_div(j.inner, j.block);
  for (int64_t o = 0; o < n_outer; o++) {
    j.x_offset = o * rows * p->inner, j.y_offset = o * p->extent * p->inner;
    iso__parallel(call->ctx, (int)(j.n_cuts * j.n_blocks), run_task, &j);
  }
}
