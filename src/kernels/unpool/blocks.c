/* blocks.c: moving elements, blocks of 16 channels (a cache line) of one image at a time, in plain C: what they cost is
 * the places' memory, not arithmetic.
 *
 * Sums stand in the result itself, as the current chunk; a byte a place counts its contributions, and where one wraps
 * the chunk goes to a panel in the workspace (rarely: a place rarely has 256 contributions). */
#include "base/pool.h"
#include "kernels/sizes.h"
#include "kernels/unpool/unpool.h"
#include "numeric/order.h"

enum { BLOCK = 16, GRAIN_ELEMENTS = 16384 };

typedef struct job {
  const iso__call *call;
  const iso_unpool_problem *p;
  const iso_unpool_args *a;
  int64_t n_blocks, lanes;
  size_t thread_bytes, panel_at, total_at, chunks_at;
} job;

/* A thread's workspace: counts, and what only sums of more than one chunk need. */
static job job_of(const iso__problem *problem) {
  const iso_unpool_problem *p = (const iso_unpool_problem *)problem;
  job j = {.p = p, .lanes = iso__min(p->c, BLOCK), .n_blocks = iso__ceil_div(p->c, BLOCK)};
  const size_t item = iso_dtype_size((iso_dtype)problem->dtype);
  iso__take(&j.thread_bytes, p->places * j.lanes, 1);
  j.panel_at = iso__take(&j.thread_bytes, p->places * j.lanes, item);
  j.total_at = iso__take(&j.thread_bytes, p->places * j.lanes, item);
  j.chunks_at = iso__take(&j.thread_bytes, p->places * j.lanes, 1);
  return j;
}
size_t iso__unpool_add_workspace(const iso__problem *problem, int n_threads) {
  return job_of(problem).thread_bytes * (size_t)n_threads;
}

#include "numeric/real_f32.h"
#include "kernels/unpool/blocks_body.h"
#include "numeric/real_f64.h"
#include "kernels/unpool/blocks_body.h"

static void run_range(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t image = i / j->n_blocks, c = i % j->n_blocks * BLOCK, n = iso__min(BLOCK, j->p->c - c);
    if (j->p->head.dtype == ISO_F64) block_f64(j, image, c, n, thread);
    else block_f32(j, image, c, n, thread);
  }
}
void iso__unpool_blocks_run(const iso__call *call) {
  job j = job_of(call->problem);
  j.call = call, j.a = call->args;
  const int64_t per_block = iso__max((j.p->places + j.p->picks) * j.lanes, 1);
  iso__parallel_range(call->ctx, j.p->n * j.n_blocks, iso__max(GRAIN_ELEMENTS / per_block, 1), 1, run_range, &j);
}
double iso__unpool_blocks_cost(const iso__problem *problem, int n_threads) {
  const iso_unpool_problem *p = (const iso_unpool_problem *)problem;
  const double ns = (double)p->n * (double)p->c * ((double)p->places * 0.4 + (double)p->picks * 1.2);
  return 150 + (n_threads > 1 && ns > 3e4 ? 3000 + ns / n_threads : ns);
}
