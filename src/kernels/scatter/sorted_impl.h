/* sorted_impl.h: scatters by a stable sort of the destinations; included once per instruction set, which names its
 * exports by ISA(name) and whose vectors the compiler makes of the loops over columns.
 *
 * Grouped by destination, every row of y is written once, after its contributions were added up in L1 in the order of
 * the contract, so no thread needs to know of another's. Threads share destinations, cut where the work is equal, and
 * columns where there are few destinations. y may be most of the memory (the gradient of an embedding): rows that
 * nothing reaches are cleared in runs, and all is written past the caches. */
#include <math.h>
#if defined(__AVX__)
#  include <immintrin.h>
#endif
#include "base/pool.h"
#include "kernels/scatter/engines.h"
#include "numeric/order.h"

enum { BLOCK_COLUMNS = 1024, NARROW_COLUMNS = 128, MOST_TASKS = 64, SHARED_ELEMENTS = 32768 };
enum { STREAM_FLOATS = 16, STREAM_LEAST = 8 << 20 }; /* of a line; of y */

typedef struct job {
  const iso_scatter_problem *p;
  const iso_scatter_args *a;
  iso__scatter_sort sort;
  iso__row_list list; /* first and n are set per destination */
  int64_t inner, x_offset, y_offset;
  int64_t n_cuts, n_blocks, block; /* tasks: cuts of the destinations × blocks of columns */
  bool streams;                    /* y is too large to be worth a place in the caches: of sums without a base */
} job;

/* n floats past the caches, which then need not read the lines that are overwritten; NULL: zeros. Aligned, n a multiple
 * of a line. */
static void stream(float *to, const float *from, int64_t n) {
#if defined(__AVX512F__)
  for (int64_t i = 0; i < n; i += 16) _mm512_stream_ps(to + i, from ? _mm512_loadu_ps(from + i) : _mm512_setzero_ps());
#elif defined(__AVX__)
  for (int64_t i = 0; i < n; i += 8) _mm256_stream_ps(to + i, from ? _mm256_loadu_ps(from + i) : _mm256_setzero_ps());
#else
  if (from) memcpy(to, from, (size_t)n * sizeof *to);
  else memset(to, 0, (size_t)n * sizeof *to);
#endif
}
static void finish_streaming(void) {
#if defined(__AVX__)
  _mm_sfence();
#endif
}
static bool may_stream(const iso_scatter_problem *p, const iso_scatter_args *a) {
  return p->fn == ISO__SCATTER_ADD && p->base == ISO__SCATTER_NONE && p->head.dtype == ISO_F32 &&
         p->inner % STREAM_FLOATS == 0 && (uintptr_t)a->y % (STREAM_FLOATS * sizeof(float)) == 0 &&
         p->outer * p->extent * p->inner >= STREAM_LEAST;
}

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
  if (j->streams) finish_streaming();
}

void ISA(iso__scatter_sorted_run)(const iso__call *call) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)call->problem;
  job j = {.p = p, .a = call->args, .inner = p->each ? 1 : p->inner, .streams = !p->each && may_stream(p, call->args)};
  if (p->outer == 0 || p->inner == 0 || p->extent == 0) return;
  iso__scatter_sort_place(p, call->workspace, &j.sort);
  iso__scatter_sort_run(p, j.a->index, &j.sort);
  j.list = (iso__row_list){.order = j.sort.order,
                           .source = p->sources && !p->run ? j.a->source : NULL,
                           .run = p->run,
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
