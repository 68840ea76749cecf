/* split_k.c: two engines for few outputs and many terms (weight gradients), where K is what threads can share.
 *
 * `gemm_split_k`, class ordered: a wave of panels is computed by the threads, each panel's sum in a slot of its own;
 * then the slots are added to the totals in ascending order (NUMERICS §2: sums may wait in slots). The number of slots
 * is fixed by the threads, so workspace does not grow with K.
 *
 * `gemm_split_k_free`, class free: pieces of K go to whichever thread is idle; every thread adds all its pieces to one
 * rectangle of its own, and the rectangles are added in the end. No slots, no waves, no panels: a little faster; and as
 * the pieces a thread gets depend on time, the bits differ from run to run. */
#include "base/context.h"
#include "kernels/gemm/nest.h"
#include "kernels/sizes.h"

enum { PANELS_PER_THREAD = 4, MAX_OUTPUTS = 1 << 18, PIECES_PER_THREAD = 16 };

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

typedef struct job {
  const iso__call *call;
  const iso__tiles *tiles;
  iso__gemm_item item;
  iso__gemm_layout layout;
  int64_t rectangle_floats;  /* a multiple of a cache line */
  int64_t step;              /* terms of a task */
  int64_t k_begin, n_wave;   /* of this wave: first term, panels */
  float *rectangles, *total; /* total: dense; NULL: C holds the totals */
  size_t scratch_bytes;
  int64_t n_rectangles;
  bool *begun; /* free: whether a thread's rectangle holds anything; n_rectangles of them */
} job;

/* Sums may not wait in C if the epilogue reads it: by beta, or as a residual that lies there. */
static bool total_apart(const iso_gemm_problem *p) { return p->has_beta || p->has_residual; }

static int64_t rectangle_floats_of(const iso_gemm_problem *p) { return (p->m * p->n + 15) / 16 * 16; }
static size_t scratch_bytes_of(const iso__gemm_layout *layout) {
  return (iso__gemm_layout_bytes(layout) + 63) & ~(size_t)63;
}
static int64_t wave_panels(const iso_gemm_problem *p, int n_threads) {
  return min_i64(iso__ceil_div(p->k, ISO__PANEL_TERMS), (int64_t)PANELS_PER_THREAD * n_threads);
}

/* The layout of a nest that never leaves sums to wait: a dense rectangle takes them. */
static iso__gemm_layout layout_of(const iso_gemm_problem *p, const iso__tiles *tiles) {
  iso__gemm_layout layout = iso__gemm_layout_of(p, tiles, p->m, p->n);
  layout.group_rows = p->m;
  layout.waits_apart = false;
  layout.panel_floats = layout.total_floats = 0;
  return layout;
}

static job job_of(const iso__call *call, const iso__tiles *tiles) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  job j = {.call = call, .tiles = tiles, .item = iso__gemm_item_of(call, 0), .layout = layout_of(p, tiles)};
  j.rectangle_floats = rectangle_floats_of(p);
  j.scratch_bytes = scratch_bytes_of(&j.layout);
  return j;
}

static float *scratch_of(const job *j, int thread) {
  return (float *)(void *)((char *)j->call->workspace + (size_t)thread * j->scratch_bytes);
}

static const char *few_outputs(const iso_gemm_problem *p) {
  if (p->batch != 1) return "splits K, for one product at a time";
  if (p->m == 0 || p->n == 0 || p->m * p->n > MAX_OUTPUTS) return "splits K, for 1 to 2^18 outputs";
  if (p->k < 4 * ISO__PANEL_TERMS) return "splits K, from 4096 terms on";
  return NULL;
}

/* ---- ordered ---- */

static void panel_task(void *arg, int index, int thread) {
  const job *j = arg;
  const iso_gemm_problem *p = j->item.problem;
  const int64_t begin = j->k_begin + (int64_t)index * ISO__PANEL_TERMS;
  const iso__gemm_block block = {.row_end = p->m,
                                 .column_end = p->n,
                                 .k_begin = begin,
                                 .k_end = min_i64(p->k, begin + ISO__PANEL_TERMS),
                                 .slots = j->rectangles + index * j->rectangle_floats};
  iso__gemm_nest(j->tiles, &j->layout, &j->item, &block, scratch_of(j, thread));
}

/* total += the wave's slots, ascending, for rows [begin, end); after the last wave the epilogue. */
static void fold_rows(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const job *j = arg;
  const iso_gemm_problem *p = j->item.problem;
  const bool last = j->k_begin + j->n_wave * ISO__PANEL_TERMS >= p->k;
  for (int64_t i = begin; i < end; i++) {
    float *c = j->item.c + i * p->ldc, *total = j->total ? j->total + i * p->n : c;
    for (int64_t s = 0; s < j->n_wave; s++) {
      const float *slot = j->rectangles + s * j->rectangle_floats + i * p->n;
      if (s == 0 && j->k_begin == 0)
        for (int64_t q = 0; q < p->n; q++) total[q] = 0.0f + slot[q];
      else
        for (int64_t q = 0; q < p->n; q++) total[q] = total[q] + slot[q];
    }
    if (last) iso__gemm_epilogue_row(j->tiles, &j->item, total, i, p->n);
  }
}

static size_t ordered_workspace(const iso__problem *problem, const iso__tiles *tiles, int n_threads) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const iso__gemm_layout layout = layout_of(p, tiles);
  const int64_t n_rectangles = wave_panels(p, n_threads) + (total_apart(p) ? 1 : 0);
  return scratch_bytes_of(&layout) * (size_t)n_threads +
         (size_t)(n_rectangles * rectangle_floats_of(p)) * sizeof(float);
}

static void ordered_run(const iso__call *call, const iso__tiles *tiles) {
  job j = job_of(call, tiles);
  const iso_gemm_problem *p = j.item.problem;
  const int64_t n_panels = iso__ceil_div(p->k, ISO__PANEL_TERMS), wave = wave_panels(p, call->ctx->n_threads);
  j.rectangles = scratch_of(&j, call->ctx->n_threads);
  if (total_apart(p)) j.total = j.rectangles + wave * j.rectangle_floats;
  for (int64_t first = 0; first < n_panels; first += wave) {
    j.k_begin = first * ISO__PANEL_TERMS, j.n_wave = min_i64(wave, n_panels - first);
    iso__parallel(call->ctx, (int)j.n_wave, panel_task, &j);
    iso__parallel_range(call->ctx, p->m, 1 + 32768 / (p->n * j.n_wave), 1, fold_rows, &j);
  }
}

/* ---- free ---- */

static void piece_task(void *arg, int index, int thread) {
  const job *j = arg;
  const iso_gemm_problem *p = j->item.problem;
  const int64_t begin = (int64_t)index * j->step;
  const iso__gemm_block block = {.row_end = p->m,
                                 .column_end = p->n,
                                 .k_begin = begin,
                                 .k_end = min_i64(p->k, begin + j->step),
                                 .sums = j->rectangles + thread * j->rectangle_floats,
                                 .sums_begun = j->begun[thread]};
  iso__gemm_nest(j->tiles, &j->layout, &j->item, &block, scratch_of(j, thread));
  j->begun[thread] = true;
}

static void join_rows(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const job *j = arg;
  const iso_gemm_problem *p = j->item.problem;
  for (int64_t i = begin; i < end; i++) {
    float *first = NULL;
    for (int64_t t = 0; t < j->n_rectangles; t++) {
      float *row = j->rectangles + t * j->rectangle_floats + i * p->n;
      if (!j->begun[t]) continue;
      if (!first) first = row;
      else
        for (int64_t q = 0; q < p->n; q++) first[q] = first[q] + row[q];
    }
    iso__gemm_epilogue_row(j->tiles, &j->item, first, i, p->n);
  }
}

static size_t free_workspace(const iso__problem *problem, const iso__tiles *tiles, int n_threads) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const iso__gemm_layout layout = layout_of(p, tiles);
  return scratch_bytes_of(&layout) * (size_t)n_threads +
         (size_t)n_threads * ((size_t)rectangle_floats_of(p) * sizeof(float) + sizeof(bool));
}

static void free_run(const iso__call *call, const iso__tiles *tiles) {
  job j = job_of(call, tiles);
  const iso_gemm_problem *p = j.item.problem;
  j.n_rectangles = call->ctx->n_threads;
  j.rectangles = scratch_of(&j, call->ctx->n_threads);
  j.begun = (bool *)(j.rectangles + j.n_rectangles * j.rectangle_floats);
  memset(j.begun, 0, (size_t)j.n_rectangles * sizeof *j.begun);
  const int64_t piece = p->k / (j.n_rectangles * PIECES_PER_THREAD);
  j.step = (piece / ISO__PANEL_TERMS + 1) * ISO__PANEL_TERMS;
  iso__parallel(call->ctx, (int)iso__ceil_div(p->k, j.step), piece_task, &j);
  iso__parallel_range(call->ctx, p->m, 1 + 32768 / (p->n * j.n_rectangles), 1, join_rows, &j);
}

/* ---- costs and rows ---- */

/* Of the products alone, shared evenly; every thread packs only what it multiplies. */
static double products_cost(const iso_gemm_problem *p, const iso__tiles *tiles, int n_threads) {
  const iso__gemm_layout l = layout_of(p, tiles);
  const double k = (double)p->k, m = (double)p->m, n = (double)(iso__ceil_div(p->n, tiles->width) * tiles->width);
  const double rows = m < 4 ? 4 : m;
  const double packed = (l.direct_a ? 0 : m) + (l.direct_b ? 0 : n);
  return (2 * rows * n * (k + 0.05 * k) / iso__gemm_blocking_of(tiles)->gflops + 0.15 * k * packed) / n_threads +
         iso__gemm_read_cost(4 * k * (m + n) / n_threads);
}

static double ordered_cost(const iso__problem *problem, const iso__tiles *tiles, int n_threads) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const double panels = (double)iso__ceil_div(p->k, ISO__PANEL_TERMS),
               waves = panels / (double)wave_panels(p, n_threads);
  return 500 + products_cost(p, tiles, n_threads) + waves * 4000 + 0.3 * panels * (double)(p->m * p->n) / n_threads;
}

static double free_cost(const iso__problem *problem, const iso__tiles *tiles, int n_threads) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  return 5000 + products_cost(p, tiles, n_threads) + 0.3 * (double)(p->m * p->n);
}

const char *iso__gemm_split_k_applicable(const iso__problem *problem) {
  return few_outputs((const iso_gemm_problem *)problem);
}
const char *iso__gemm_split_k_free_applicable(const iso__problem *problem) {
  return few_outputs((const iso_gemm_problem *)problem);
}

#if defined(__x86_64__)
#  define ROW(isa)                                                                                                     \
    size_t iso__gemm_split_k_workspace_##isa(const iso__problem *problem, int n_threads) {                             \
      return ordered_workspace(problem, &iso__tiles_##isa, n_threads);                                                 \
    }                                                                                                                  \
    double iso__gemm_split_k_cost_##isa(const iso__problem *problem, int n_threads) {                                  \
      return ordered_cost(problem, &iso__tiles_##isa, n_threads);                                                      \
    }                                                                                                                  \
    void iso__gemm_split_k_run_##isa(const iso__call *call) { ordered_run(call, &iso__tiles_##isa); }                  \
    size_t iso__gemm_split_k_free_workspace_##isa(const iso__problem *problem, int n_threads) {                        \
      return free_workspace(problem, &iso__tiles_##isa, n_threads);                                                    \
    }                                                                                                                  \
    double iso__gemm_split_k_free_cost_##isa(const iso__problem *problem, int n_threads) {                             \
      return free_cost(problem, &iso__tiles_##isa, n_threads);                                                         \
    }                                                                                                                  \
    void iso__gemm_split_k_free_run_##isa(const iso__call *call) { free_run(call, &iso__tiles_##isa); }
ROW(avx2)
ROW(avx512)
#endif
