/* blocked.c: engine `gemm_blocked`: C is cut into a grid of rectangles, one a thread, each by the nest of nest.c with
 * scratch of its own.
 *
 * Threads share no packed block, so there is one fork and no barrier; what two threads pack twice is a few percent of
 * their products as long as rectangles are large, and small products run on the caller alone. Batch items are tasks of
 * their own when there are enough of them. Of constant weights all strips of B are kept packed. */
#include "base/context.h"
#include "kernels/gemm/nest.h"
#include "kernels/sizes.h"

enum { MAX_TASKS = 4096 };                  /* of batch items, whatever their number */
static const double task_flops_min = 1.5e6; /* less is not worth waking a thread for */

typedef struct grid {
  int64_t rows, columns; /* tasks each way */
} grid;

static int64_t strip_of(const iso__tiles *tiles) { return 2 * (int64_t)tiles->width; }

/* How many tiles the busiest thread computes and how many strips it packs, for tasks of ceil(m/rows) × ceil(n/columns).
 */
static double grid_cost(const iso_gemm_problem *p, const iso__tiles *tiles, grid g) {
  const double m = (double)iso__ceil_div(p->m, g.rows);
  const double n = (double)(iso__ceil_div(iso__ceil_div(p->n, strip_of(tiles)), g.columns) * strip_of(tiles));
  return m * n + 20 * (m + n);
}

static grid grid_of(const iso_gemm_problem *p, const iso__tiles *tiles, int n_threads) {
  const double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
  int64_t wanted = flops / task_flops_min < n_threads ? (int64_t)(flops / task_flops_min) : n_threads;
  if (p->batch > 1) wanted = iso__ceil_div(wanted, p->batch); /* the batch gives tasks too */
  grid best = {1, 1};
  if (wanted <= 1) return best;
  for (int64_t rows = 1; rows <= wanted; rows++) {
    const grid g = {rows, wanted / rows};
    if (g.rows > p->m || g.columns > iso__ceil_div(p->n, strip_of(tiles))) continue;
    if (grid_cost(p, tiles, g) < grid_cost(p, tiles, best)) best = g;
  }
  return best;
}

static iso__gemm_layout layout_of(const iso_gemm_problem *p, const iso__tiles *tiles, grid g) {
  const int64_t columns = iso__ceil_div(iso__ceil_div(p->n, strip_of(tiles)), g.columns) * strip_of(tiles);
  iso__gemm_layout l = iso__gemm_layout_of(p, tiles, iso__ceil_div(p->m, g.rows), columns < p->n ? columns : p->n);
  if (p->head.kept) l.direct_b = false, l.b_floats = 0;
  return l;
}

typedef struct job {
  const iso__call *call;
  const iso__tiles *tiles;
  iso__gemm_layout layout;
  grid grid;
  int64_t items_per_task;
  size_t scratch_bytes;
} job;

static void run_rectangle(const job *j, int64_t item, int64_t row, int64_t column, float *scratch) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)j->call->problem;
  const int64_t width = strip_of(j->tiles), n_strips = iso__ceil_div(p->n, width);
  const int64_t end = iso__tile_begin(n_strips, j->grid.columns, column + 1) * width;
  iso__gemm_item g = iso__gemm_item_of(j->call, item);
  g.kept_columns = iso__gemm_kept_columns(p, j->tiles);
  if (j->call->kept) g.kept_b = (const float *)j->call->kept + (p->batch_stride_b ? item * g.kept_columns * p->k : 0);
  const iso__gemm_block block = {.row_begin = iso__tile_begin(p->m, j->grid.rows, row),
                                 .row_end = iso__tile_begin(p->m, j->grid.rows, row + 1),
                                 .column_begin = iso__tile_begin(n_strips, j->grid.columns, column) * width,
                                 .column_end = end < p->n ? end : p->n,
                                 .k_end = p->k};
  iso__gemm_nest(j->tiles, &j->layout, &g, &block, scratch);
}

static void task(void *arg, int index, int thread) {
  const job *j = arg;
  const iso_gemm_problem *p = (const iso_gemm_problem *)j->call->problem;
  float *scratch = (float *)(void *)((char *)j->call->workspace + (size_t)thread * j->scratch_bytes);
  const int64_t n_rectangles = j->grid.rows * j->grid.columns;
  const int64_t begin = index / n_rectangles * j->items_per_task, rectangle = index % n_rectangles;
  const int64_t end = begin + j->items_per_task < p->batch ? begin + j->items_per_task : p->batch;
  for (int64_t item = begin; item < end; item++)
    run_rectangle(j, item, rectangle / j->grid.columns, rectangle % j->grid.columns, scratch);
}

static size_t scratch_bytes_of(const iso__gemm_layout *layout) {
  return (iso__gemm_layout_bytes(layout) + 63) & ~(size_t)63;
}

static size_t workspace(const iso__problem *problem, const iso__tiles *tiles, int n_threads) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  if (p->m == 0 || p->n == 0 || p->batch == 0) return 0;
  const iso__gemm_layout layout = layout_of(p, tiles, grid_of(p, tiles, n_threads));
  return scratch_bytes_of(&layout) * (size_t)n_threads;
}

static void run(const iso__call *call, const iso__tiles *tiles) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  if (p->m == 0 || p->n == 0 || p->batch == 0) return;
  job j = {.call = call, .tiles = tiles, .grid = grid_of(p, tiles, call->ctx->n_threads)};
  j.layout = layout_of(p, tiles, j.grid);
  j.scratch_bytes = scratch_bytes_of(&j.layout);
  /* Small batch items go several to a task. */
  const double item_flops = 2.0 * (double)p->m * (double)p->n * (double)(p->k + 16);
  j.items_per_task = item_flops < task_flops_min ? (int64_t)(task_flops_min / item_flops) : 1;
  if (j.items_per_task < p->batch / MAX_TASKS + 1) j.items_per_task = p->batch / MAX_TASKS + 1;
  const int64_t n_tasks = iso__ceil_div(p->batch, j.items_per_task) * j.grid.rows * j.grid.columns;
  if (n_tasks == 1) task(&j, 0, 0);
  else iso__parallel(call->ctx, (int)n_tasks, task, &j);
}

/* ---- constant weights ---- */

static size_t kept_bytes(const iso__problem *problem, const iso__tiles *tiles) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const int64_t n_items = p->batch && p->batch_stride_b ? p->batch : 1;
  return (size_t)(n_items * iso__gemm_kept_columns(p, tiles) * p->k) * sizeof(float);
}

typedef struct preparation {
  const iso__call *call;
  const iso__tiles *tiles;
  float *kept;
} preparation;

/* One chunk of one batch item. */
static void prepare_task(void *arg, int index, int thread) {
  (void)thread;
  const preparation *r = arg;
  const iso_gemm_problem *p = (const iso_gemm_problem *)r->call->problem;
  const int64_t n_chunks = iso__ceil_div(p->k, ISO__CHUNK_TERMS), item = index / n_chunks;
  const int64_t begin = index % n_chunks * ISO__CHUNK_TERMS, left = p->k - begin;
  const iso__gemm_item g = iso__gemm_item_of(r->call, item);
  float *dst = r->kept + (item * p->k + begin) * iso__gemm_kept_columns(p, r->tiles);
  iso__gemm_pack_b(r->tiles, &g, begin, left < ISO__CHUNK_TERMS ? left : ISO__CHUNK_TERMS, 0, p->n, dst);
}

static void prepare(const iso__call *call, const iso__tiles *tiles, void *kept) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  if (p->n == 0 || p->k == 0 || p->batch == 0) return;
  const int64_t n_tasks = (p->batch_stride_b ? p->batch : 1) * iso__ceil_div(p->k, ISO__CHUNK_TERMS);
  iso__parallel(call->ctx, (int)n_tasks, prepare_task, &(preparation){call, tiles, kept});
}

static double cost(const iso__problem *problem, const iso__tiles *tiles, int n_threads) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  if (p->m == 0 || p->n == 0 || p->batch == 0) return 100;
  const grid g = grid_of(p, tiles, n_threads);
  const iso__gemm_layout l = layout_of(p, tiles, g);
  const double peak = iso__gemm_blocking_of(tiles)->gflops;
  /* Of one rectangle: vectors are computed whole, a tile of few rows waits for its fmas, packing moves every element,
   * transposing it where lines of B are columns, and an epilogue passes over C. */
  const double m = (double)iso__ceil_div(p->m, g.rows), k = (double)p->k;
  const double n =
      (double)(iso__ceil_div(iso__ceil_div(p->n, tiles->width), g.columns) * tiles->width); /* few columns: vectors */
  const double rows = m < 4 ? 4 : m;
  /* Of short sums a C of tens of megabytes takes longer to write than to compute. */
  const double compute = 2 * rows * n * (k + 12) / peak, write = (4 * m * n - 0x1p24) / 2.5;
  const double products = compute > write ? compute : write;
  const double strips = n / (double)strip_of(tiles) * (double)iso__ceil_div(p->k, ISO__CHUNK_TERMS);
  const double torn = p->n % strip_of(tiles) ? 2 * k : 0; /* the last strip is packed element by element */
  const double whole = l.direct_b ? 0 : (p->trans_b ? 0.15 : 0.05) * n * k + 30 * strips;
  const double pack_b = p->head.kept ? 0 : whole + torn;
  const double pack_a = l.direct_a ? 0 : 0.15 * m * k;
  const double epilogue = iso__gemm_has_epilogue(p) ? 0.25 * m * n : 0;
  const double read = iso__gemm_read_cost(4 * k * (m + n));
  const double items = (double)p->batch * (double)(g.rows * g.columns);
  const double parallel = items > n_threads ? items / n_threads : 1;
  return 150 + (items > 1 && n_threads > 1 ? 3000 : 0) + (products + read + pack_a + pack_b + epilogue + 50) * parallel;
}

#if defined(__x86_64__)
#  define ROW(isa)                                                                                                     \
    size_t iso__gemm_blocked_workspace_##isa(const iso__problem *problem, int n_threads) {                             \
      return workspace(problem, &iso__tiles_##isa, n_threads);                                                         \
    }                                                                                                                  \
    double iso__gemm_blocked_cost_##isa(const iso__problem *problem, int n_threads) {                                  \
      return cost(problem, &iso__tiles_##isa, n_threads);                                                              \
    }                                                                                                                  \
    void iso__gemm_blocked_run_##isa(const iso__call *call) { run(call, &iso__tiles_##isa); }                          \
    size_t iso__gemm_blocked_kept_bytes_##isa(const iso__problem *problem) {                                           \
      return kept_bytes(problem, &iso__tiles_##isa);                                                                   \
    }                                                                                                                  \
    void iso__gemm_blocked_prepare_##isa(const iso__call *call, void *kept) { prepare(call, &iso__tiles_##isa, kept); }
ROW(avx2)
ROW(avx512)
#endif
