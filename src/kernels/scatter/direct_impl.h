/* direct_impl.h: scatters without sorting; included once per instruction set, which names its exports by ISA(name).
 *
 * The accumulators of a block of destinations and columns, with a count each, stay in cache while all indices go by;
 * whoever points elsewhere is left to another block. Right where destinations are few (bins of a histogram) or indices
 * are; and its memory depends on neither. Threads share blocks. */
#include <math.h>
#include "base/pool.h"
#include "kernels/scatter/engines.h"
#include "numeric/order.h"

enum { SHARED_ELEMENTS = 16384, BATCH = 512 };

typedef struct job {
  const iso_scatter_problem *p;
  const iso_scatter_args *a;
  iso__scatter_blocks blocks;
  char *workspace;
  size_t thread_bytes;
} job;
typedef struct block {
  int64_t outer, row, rows, column, columns;
  char *memory;
} block;

#define BODY "kernels/scatter/combine_body.h"
#include "kernels/scatter/types.h"
#define BODY "kernels/scatter/join_body.h"
#include "kernels/scatter/types.h"
#define BODY "kernels/scatter/direct_body.h"
#include "kernels/scatter/types.h"

static void run_task(void *arg, int task, int thread) {
  const job *j = arg;
  const int64_t column = task % j->blocks.n_columns, rest = task / j->blocks.n_columns;
  block b = {.column = column * j->blocks.columns,
             .row = rest % j->blocks.n_rows * j->blocks.rows,
             .outer = rest / j->blocks.n_rows,
             .memory = j->workspace + (size_t)thread * j->thread_bytes};
  b.columns = iso__min(j->blocks.columns, j->p->inner - b.column);
  b.rows = iso__min(j->blocks.rows, j->p->extent - b.row);
  switch (j->p->head.dtype) {
  case ISO_F32: run_block_f32(j, &b); break;
  case ISO_F64: run_block_f64(j, &b); break;
  case ISO_I64: run_block_i64(j, &b); break;
  case ISO_I32: run_block_i32(j, &b); break;
  default: run_block_u8(j, &b); break;
  }
}

static void run_serially(void *arg, int64_t begin, int64_t end, int thread) {
  for (int64_t task = begin; task < end; task++) run_task(arg, (int)task, thread);
}

void ISA(iso__scatter_direct_run)(const iso__call *call) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)call->problem;
  job j = {.p = p,
           .a = call->args,
           .blocks = iso__scatter_blocks_of(p, iso_n_threads(call->ctx)),
           .workspace = call->workspace,
           .thread_bytes = iso__scatter_direct_bytes(p)};
  const int64_t n_tasks = p->outer * j.blocks.n_rows * j.blocks.n_columns;
  if (n_tasks == 0) return;
  const int64_t per_task = p->n + j.blocks.rows * j.blocks.columns;
  if (n_tasks * per_task < SHARED_ELEMENTS || n_tasks > INT32_MAX)
    iso__parallel_range(call->ctx, n_tasks, iso__ceil_div(SHARED_ELEMENTS, per_task), 1, run_serially, &j);
  else iso__parallel(call->ctx, (int)n_tasks, run_task, &j);
}
