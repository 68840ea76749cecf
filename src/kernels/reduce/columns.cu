/* columns.cu: ordered sums of columns on CUDA devices, chunk by chunk in shared memory (columns.cuh). Columns of one
 * chunk are done then; of longer ones the chunks' sums wait in slots (outer, chunk, inner), which a second kernel folds.
 * Spreads look twice. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/columns.cuh"
#include "kernels/reduce/reduce.h"

namespace {
struct column_sums {
  const float *x;
  float *slots, *y, *mean;
  int64_t n, inner, n_tiles; /* tiles of one matrix (n, inner) */
  iso__reduce_fn fn;
  float divisor;
  bool second; /* look of a spread: differences from the mean */
};

__device__ __forceinline__ float result_of(const column_sums &s, float sum) {
  if (s.fn == ISO__REDUCE_MEAN) return sum / (float)s.n;
  if (!iso__reduce_is_spread(s.fn)) return sum;
  const float var = sum / s.divisor;
  return s.fn == ISO__REDUCE_STD ? sqrtf(var) : var;
}
/* What of element v is added. */
__device__ __forceinline__ float term(iso__reduce_fn fn, float v) {
  if (fn == ISO__REDUCE_NANSUM) return v != v ? 0 : v;
  return fn == ISO__REDUCE_SUM_ABS ? fabsf(v) : v;
}
/* The sum of a column of the tile; `squares`: of (v − mean)². */
__device__ __forceinline__ float walk(const column_sums &s, const tile_place &tile, const float (*values)[TILE_COLUMNS], int t, bool squares, float mean) {
  float sum = 0;
  if (squares)
    walk_rows(tile, [&](int r) {
      const float d = values[r][t] - mean;
      sum = fmaf(d, d, sum);
    });
  else if (s.fn == ISO__REDUCE_NANSUM || s.fn == ISO__REDUCE_SUM_ABS)
    for (int r = 0; r < tile.n_rows; r++) sum = sum + term(s.fn, values[r][t]);
  else walk_rows(tile, [&](int r) { sum = sum + values[r][t]; });
  return sum;
}

template <int V> __global__ void __launch_bounds__(TILE_THREADS) column_chunks(const __grid_constant__ column_sums s) {
  __shared__ __align__(16) float values[ISO__CHUNK][TILE_COLUMNS];
  const int64_t outer = blockIdx.x / (unsigned)s.n_tiles;
  const tile_place tile = tile_at(blockIdx.x % (unsigned)s.n_tiles, s.n, s.inner);
  const float *x = s.x + outer * s.n * s.inner;
  const int t = threadIdx.x;
  fetch_tile<V>(tile, x, values);
  const int64_t column = tile.column + t;
  if (t >= TILE_COLUMNS || column >= s.inner) return;
  const bool spread = iso__reduce_is_spread(s.fn), squares = s.fn == ISO__REDUCE_SUM_SQUARES;
  const int64_t at = outer * s.inner + column;
  if (s.n > ISO__CHUNK) {
    const int64_t chunk = tile.row / ISO__CHUNK, n_chunks = (s.n + ISO__CHUNK - 1) / ISO__CHUNK;
    s.slots[(outer * n_chunks + chunk) * s.inner + column] =
        walk(s, tile, values, t, squares || s.second, s.second ? s.mean[at] : 0);
  } else {
    float sum = walk(s, tile, values, t, squares, 0);
    if (spread) {
      const float mean = sum / (float)s.n;
      s.mean[at] = mean, sum = walk(s, tile, values, t, true, mean);
    }
    s.y[at] = result_of(s, sum);
  }
}

__device__ __forceinline__ void finish(const column_sums &s, int64_t at, float sum) {
  if (iso__reduce_is_spread(s.fn) && !s.second) s.mean[at] = sum / (float)s.n;
  else s.y[at] = result_of(s, sum);
}
/* Of one panel: a thread a column. */
__global__ void __launch_bounds__(TILE_THREADS) column_panels(const __grid_constant__ column_sums s, int64_t n_columns) {
  const int64_t at = (int64_t)blockIdx.x * TILE_THREADS + threadIdx.x;
  if (at >= n_columns) return;
  const int64_t outer = at / s.inner, n = (s.n + ISO__CHUNK - 1) / ISO__CHUNK;
  const float *slots = s.slots + outer * (n - 1) * s.inner + at; /* (outer·n + chunk)·inner + column */
  float v[FOLD_CHUNKS], panel = 0;
#pragma unroll
  for (int k = 0; k < FOLD_CHUNKS; k++) v[k] = k < n ? __ldg(slots + k * s.inner) : 0;
#pragma unroll
  for (int k = 0; k < FOLD_CHUNKS; k++) panel = panel + v[k];
  finish(s, at, panel);
}
__global__ void __launch_bounds__(1024, 1) column_fold(const __grid_constant__ column_sums s) {
  __shared__ float panels[FOLD_PANELS][FOLD_COLUMNS];
  const unsigned across = (unsigned)((s.inner + FOLD_COLUMNS - 1) / FOLD_COLUMNS);
  const int64_t outer = blockIdx.x / across, column = (int64_t)(blockIdx.x % across) * FOLD_COLUMNS + threadIdx.x, n = (s.n + ISO__CHUNK - 1) / ISO__CHUNK;
  const float *slots = s.slots + outer * n * s.inner + (column < s.inner ? column : s.inner - 1);
  const float sum = fold_columns(n, panels, [&](int, int64_t i) { return __ldg(slots + i * s.inner); });
  if (threadIdx.y == 0 && column < s.inner) finish(s, outer * s.inner + column, sum);
}
} // namespace

extern "C" const char *iso__reduce_columns_cuda_applicable(const iso__problem *problem) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  if (p->fn > ISO__REDUCE_STD || p->fn == ISO__REDUCE_PROD) return "computes sums, means and spreads";
  if (p->tail) return "columns are not cut";
  const double tiles = (double)p->outer * (double)(tiles_of(p->n ? p->n : 1, p->inner) + p->inner / FOLD_COLUMNS + 1);
  return tiles >= INT32_MAX ? "numbers blocks in 31 bits" : NULL;
}
/* A value of each chunk and column, if there are several chunks. */
extern "C" size_t iso__reduce_columns_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  (void)n_multiprocessors;
  const int64_t n = (p->n + ISO__CHUNK - 1) / ISO__CHUNK;
  return n > 1 ? (size_t)(p->outer * n * p->inner) * sizeof(float) : 0;
}

extern "C" void iso__reduce_columns_cuda_run(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  const iso_reduce_args *a = (const iso_reduce_args *)call->args;
  if (p->outer == 0 || p->inner == 0) return;
  cudaStream_t stream = iso__cuda_stream(call);
  column_sums s = {};
  s.x = (const float *)a->x, s.slots = (float *)call->workspace, s.y = (float *)a->y, s.mean = (float *)a->mean;
  s.n = p->n, s.inner = p->inner, s.fn = (iso__reduce_fn)p->fn, s.divisor = (float)a->divisor;
  s.n_tiles = tiles_of(p->n ? p->n : 1, p->inner);
  const int64_t n_chunks = (p->n + ISO__CHUNK - 1) / ISO__CHUNK;
  for (int look = 0; look < (iso__reduce_is_spread(s.fn) && p->n > ISO__CHUNK ? 2 : 1); look++) {
    s.second = look == 1;
    if (is_in_fours(p->inner, s.x)) column_chunks<4><<<(unsigned)(p->outer * s.n_tiles), TILE_THREADS, 0, stream>>>(s);
    else column_chunks<1><<<(unsigned)(p->outer * s.n_tiles), TILE_THREADS, 0, stream>>>(s);
    if (p->n > ISO__PANEL)
      column_fold<<<(unsigned)(p->outer * fold_blocks(p->inner)), fold_block(n_chunks), 0, stream>>>(s);
    else if (p->n > ISO__CHUNK)
      column_panels<<<iso__cuda_blocks(p->outer * p->inner, TILE_THREADS), TILE_THREADS, 0, stream>>>(s, p->outer * p->inner);
  }
  iso__cuda_launched(call);
}
