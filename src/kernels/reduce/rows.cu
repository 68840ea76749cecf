/* rows.cu: sums of rows by lanes on CUDA devices (rows.cuh): a group of threads a row; rows beyond one panel of 4096 are
 * cut, a group a panel, and a second kernel adds the panels' tree. Spreads look twice. */
#include "kernels/cuda/launch.cuh"
#include "kernels/reduce/reduce.h"
#include "kernels/cuda/rows.cuh"

namespace {
struct row_sums {
  const float *x;
  float *slots, *y, *mean;
  int64_t n_rows, n, n_panels;
  iso__reduce_fn fn;
  float divisor;
  bool second;
};

__device__ __forceinline__ float result_of(const row_sums &s, float sum) {
  if (s.fn == ISO__REDUCE_MEAN) return sum / (float)s.n;
  if (!iso__reduce_is_spread(s.fn)) return sum;
  const float var = sum / s.divisor;
  return s.fn == ISO__REDUCE_STD ? sqrtf(var) : var;
}
/* Elements of p to their lanes: Σ v, or with `squares` Σ (v − mean)². Only what is asked for is in the loop. */
enum { PLAIN, SQUARES, OTHER };
template <int V, bool whole, int kind>
__device__ __forceinline__ float panel_sum(const row_sums &s, const float *p, int n, float mean) {
  float lane[V] = {};
#pragma unroll 8
  for (int i = (int)threadIdx.x % (ISO__LANES / V) * V; i < n; i += ISO__LANES) {
    float v[V];
    row_items<V>(v, p, i, n, whole, mean);
#pragma unroll
    for (int k = 0; k < V; k++) {
      if (!whole && i + k >= n) continue;
      if (kind == OTHER) v[k] = s.fn == ISO__REDUCE_SUM_ABS ? fabsf(v[k]) : v[k] != v[k] ? 0 : v[k]; /* NANSUM */
      const float d = v[k] - mean;
      lane[k] = kind == SQUARES ? fmaf(d, d, lane[k]) : lane[k] + v[k];
    }
  }
  return lanes_tree<V>(lane);
}
template <int V, bool whole>
__device__ __forceinline__ float panel_of(const row_sums &s, const float *p, int n, bool squares, float mean) {
  if (squares) return panel_sum<V, whole, SQUARES>(s, p, n, mean);
  if (s.fn == ISO__REDUCE_NANSUM || s.fn == ISO__REDUCE_SUM_ABS) return panel_sum<V, whole, OTHER>(s, p, n, 0);
  return panel_sum<V, whole, PLAIN>(s, p, n, 0);
}

template <int V, bool whole> __global__ void __launch_bounds__(ROWS_THREADS) row_panels(const __grid_constant__ row_sums s) {
  constexpr int group = ISO__LANES / V;
  const unsigned number = (unsigned)(((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / group), n_panels = (unsigned)s.n_panels;
  const unsigned n_units = (unsigned)s.n_rows * n_panels, unit = number < n_units ? number : n_units - 1; /* shuffles need all */
  const unsigned row = n_panels == 1 ? unit : unit / n_panels;
  const int64_t begin = (int64_t)(unit - row * n_panels) * ISO__ROW_PANEL;
  const float *p = s.x + row * s.n + begin;
  const int n = (int)(s.n - begin < ISO__ROW_PANEL ? s.n - begin : ISO__ROW_PANEL);
  const bool squares = s.fn == ISO__REDUCE_SUM_SQUARES, writes = threadIdx.x % group == 0 && number == unit;
  if (n_panels > 1) {
    const float sum = panel_of<V, whole>(s, p, n, squares || s.second, s.second ? s.mean[row] : 0);
    if (writes) s.slots[unit] = sum;
    return;
  }
  float sum = panel_of<V, whole>(s, p, n, squares, 0) + 0.0f;
  if (iso__reduce_is_spread(s.fn)) {
    const float mean = sum / (float)s.n;
    if (writes) s.mean[row] = mean;
    sum = panel_of<V, whole>(s, p, n, true, mean) + 0.0f;
  }
  if (writes) s.y[row] = result_of(s, sum);
}

/* Sums of short rows, SIDE_BY_SIDE of them for 16 threads, so that enough loads are under way. */
enum { SIDE_BY_SIDE = 4 };
template <int rounds> __global__ void __launch_bounds__(ROWS_THREADS) short_rows(const __grid_constant__ row_sums s) {
  constexpr int group = ISO__LANES / 4, groups = ROWS_THREADS / group;
  const int64_t first = (int64_t)blockIdx.x * (groups * SIDE_BY_SIDE) + threadIdx.x / group;
  const int n = (int)s.n;
  float v[SIDE_BY_SIDE][rounds][4];
#pragma unroll
  for (int r = 0; r < SIDE_BY_SIDE; r++) {
    const int64_t row = first + r * groups;
    load_row<4, true>(v[r], s.x + (row < s.n_rows ? row : s.n_rows - 1) * n, n, 0); /* shuffles need all */
  }
  const bool squares = s.fn == ISO__REDUCE_SUM_SQUARES, others = s.fn == ISO__REDUCE_NANSUM || s.fn == ISO__REDUCE_SUM_ABS;
#pragma unroll
  for (int r = 0; r < SIDE_BY_SIDE; r++) {
    float lane[4] = {};
#pragma unroll
    for (int i = 0; i < rounds; i++)
#pragma unroll
      for (int k = 0; k < 4; k++) { /* beyond the end: zeros, which change no lane */
        float w = v[r][i][k];
        if (others) w = s.fn == ISO__REDUCE_SUM_ABS ? fabsf(w) : w != w ? 0 : w;
        lane[k] = squares ? fmaf(w, w, lane[k]) : lane[k] + w;
      }
    const float sum = lanes_tree<4>(lane) + 0.0f;
    const int64_t row = first + r * groups;
    if (threadIdx.x % group == 0 && row < s.n_rows) s.y[row] = result_of(s, sum);
  }
}

/* Where a subtree and its right neighbour, which begins at leaf `right`, become one; an absent one changes nothing. */
__device__ __forceinline__ float joined(float sum, float neighbour, int right, int n_leaves) { return right < n_leaves ? sum + neighbour : sum; }
/* Of 32 subtrees of `width` leaves each, a lane a subtree from leaf `first` on; lane 0 gets their tree. */
__device__ __forceinline__ float warp_tree(float sum, int first, int width, int n_leaves) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2)
    sum = joined(sum, __shfl_down_sync(0xffffffffu, sum, step), first + step * width, n_leaves);
  return sum;
}
/* A block a row: 2048 neighbours at a time to the root of their tree, in place, until one is left. */
enum { TREE_THREADS = 1024, TREE_LEAVES = 2048 };
__global__ void __launch_bounds__(TREE_THREADS) row_trees(const __grid_constant__ row_sums s) {
  __shared__ float of_warp[TREE_THREADS / 32];
  float *v = s.slots + blockIdx.x * s.n_panels;
  const int t = threadIdx.x;
  for (int64_t n = s.n_panels; n > 1; n = (n + TREE_LEAVES - 1) / TREE_LEAVES)
    for (int64_t begin = 0; begin < n; begin += TREE_LEAVES) {
      const int here = (int)(n - begin < TREE_LEAVES ? n - begin : TREE_LEAVES);
      float sum = 2 * t < here ? v[begin + 2 * t] : 0;
      if (2 * t + 1 < here) sum = sum + v[begin + 2 * t + 1];
      sum = warp_tree(sum, 2 * t, 2, here);
      if (t % 32 == 0) of_warp[t / 32] = sum;
      __syncthreads();
      if (t < 32) sum = warp_tree(of_warp[t], 64 * t, 64, here);
      if (t == 0) v[begin / TREE_LEAVES] = sum;
      __syncthreads();
    }
  if (t) return;
  const float sum = v[0] + 0.0f;
  if (iso__reduce_is_spread(s.fn) && !s.second) s.mean[blockIdx.x] = sum / (float)s.n;
  else s.y[blockIdx.x] = result_of(s, sum);
}
int64_t panels_of(const iso_reduce_problem *p) { return p->n > 0 ? (p->n + ISO__ROW_PANEL - 1) / ISO__ROW_PANEL : 1; }
} // namespace

extern "C" const char *iso__reduce_rows_cuda_applicable(const iso__problem *problem) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  if (p->fn > ISO__REDUCE_STD || p->fn == ISO__REDUCE_PROD) return "computes sums, means and spreads";
  const double panels = (double)p->outer * (double)panels_of(p);
  return panels >= (double)INT32_MAX ? "numbers panels in 31 bits" : NULL;
}
/* A value of each panel, if rows have several. */
extern "C" size_t iso__reduce_rows_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  (void)n_multiprocessors;
  return panels_of(p) > 1 ? (size_t)(p->outer * panels_of(p)) * sizeof(float) : 0;
}

extern "C" void iso__reduce_rows_cuda_run(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  const iso_reduce_args *a = (const iso_reduce_args *)call->args;
  if (p->outer == 0) return;
  cudaStream_t stream = iso__cuda_stream(call);
  row_sums s = {};
  s.x = (const float *)a->x, s.slots = (float *)call->workspace, s.y = (float *)a->y, s.mean = (float *)a->mean;
  s.n_rows = p->outer, s.n = p->n, s.n_panels = panels_of(p);
  s.fn = (iso__reduce_fn)p->fn, s.divisor = (float)a->divisor;
  const bool fours = rows_are_whole(4, p->n, s.x), twos = rows_are_whole(2, p->n, s.x);
  const int64_t units = p->outer * s.n_panels;
  if (fours && p->n <= 2 * ISO__LANES && !iso__reduce_is_spread(s.fn)) {
    void (*const kernel)(row_sums) = p->n <= ISO__LANES ? short_rows<1> : short_rows<2>;
    kernel<<<iso__cuda_blocks(p->outer, ROWS_THREADS / 16 * SIDE_BY_SIDE), ROWS_THREADS, 0, stream>>>(s);
    iso__cuda_launched(call);
    return;
  }
  const bool wide = fours && (p->n < 512 || units >= 4096); /* 16 threads a panel, else 32 */
  for (int look = 0; look < (iso__reduce_is_spread(s.fn) && s.n_panels > 1 ? 2 : 1); look++) {
    s.second = look == 1;
    void (*const kernel)(row_sums) = wide ? row_panels<4, true> : twos ? row_panels<2, true> : row_panels<2, false>;
    kernel<<<iso__cuda_blocks(units * (wide ? 16 : 32), ROWS_THREADS), ROWS_THREADS, 0, stream>>>(s);
    if (s.n_panels > 1) row_trees<<<(unsigned)p->outer, TREE_THREADS, 0, stream>>>(s);
  }
  iso__cuda_launched(call);
}
