/* extremum.cu: largest and smallest elements of f32 rows, and where they are, on CUDA devices: a warp or a block a row.
 * Choosing the first NaN, else the lowest place of equals is associative, so threads may take any elements in any
 * order. The smallest is the largest of the negated. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/reduce/reduce.h"

namespace {
enum { THREADS = 256 };
struct rows {
  const float *x;
  float *y;
  int64_t *index; /* NULL: unwanted */
  int64_t n_rows;
  uint32_t n, kept, turned; /* of an element's bits: those that stay, those that are turned */
};
/* Of a thread that has no element: −inf, at a place beyond all. */
struct choice {
  float v;
  uint32_t at;
};
__device__ __forceinline__ choice better(const choice &a, const choice &b) {
  const bool a_nan = a.v != a.v, is_first = b.at < a.at;
  const bool b_wins = b.v != b.v ? !a_nan || is_first : !a_nan && (b.v > a.v || (b.v == a.v && is_first));
  return b_wins ? b : a;
}
/* `group` threads a row, V neighbours each at a time. */
template <int group, int V> __global__ void __launch_bounds__(THREADS) row_extrema(const __grid_constant__ rows r) {
  __shared__ choice of_warp[THREADS / 32];
  const int64_t number = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / group;
  const int64_t row = number < r.n_rows ? number : r.n_rows - 1; /* shuffles need all of a warp */
  const float *x = r.x + row * r.n;
  const uint32_t first = threadIdx.x % group * V;
  choice best = {-INFINITY, first < r.n ? first : UINT32_MAX};
#pragma unroll 8
  for (uint32_t i = first; i < r.n; i += group * V) {
    float v[V];
    if constexpr (V == 4) row_items<V>(v, x, i, r.n, true, 0);
    else v[0] = __ldg(x + i);
#pragma unroll
    for (int k = 0; k < V; k++) { /* places ascend: an equal one is later */
      const float w = __uint_as_float((__float_as_uint(v[k]) & r.kept) ^ r.turned);
      if (!(w <= best.v) && best.v == best.v) best = {w, i + k};
    }
  }
#pragma unroll
  for (int step = 1; step < 32; step *= 2)
    best = better(best, {__shfl_xor_sync(0xffffffffu, best.v, step), __shfl_xor_sync(0xffffffffu, best.at, step)});
  if constexpr (group > 32) {
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int w = 1; w < THREADS / 32; w++) best = better(best, of_warp[w]);
  }
  if (threadIdx.x % group || number != row) return;
  if (r.y) r.y[row] = __uint_as_float(__float_as_uint(best.v) ^ r.turned) + 0.0f; /* a zero is +0 */
  if (r.index) r.index[row] = best.at;
}
} // namespace

extern "C" const char *iso__reduce_extremum_cuda_applicable(const iso__problem *problem) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  if (!iso__reduce_is_extremum((iso__reduce_fn)p->fn)) return "computes extrema";
  return p->outer >= INT32_MAX || p->n >= INT32_MAX ? "numbers rows and their elements in 31 bits" : p->n == 0 ? "rows hold something" : NULL;
}
extern "C" void iso__reduce_extremum_cuda_run(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  const iso_reduce_args *a = (const iso_reduce_args *)call->args;
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  if (p->outer == 0) return;
  rows r = {};
  r.x = (const float *)a->x, r.n_rows = p->outer, r.n = (uint32_t)p->n;
  r.kept = iso__reduce_is_magnitude(fn) ? 0x7fffffff : 0xffffffff, r.turned = iso__reduce_is_largest(fn) ? 0 : 0x80000000;
  if (iso__reduce_is_index(fn)) r.index = (int64_t *)a->y;
  else r.y = (float *)a->y, r.index = iso__reduce_has_index(fn) ? (int64_t *)a->index : NULL;
  const bool fours = rows_are_whole(4, p->n, r.x), wide = p->n > 4096;
  void (*const kernel)(rows) = wide ? (fours ? row_extrema<THREADS, 4> : row_extrema<THREADS, 1>) : fours ? row_extrema<32, 4> : row_extrema<32, 1>;
  kernel<<<wide ? (unsigned)p->outer : iso__cuda_blocks(p->outer * 32, THREADS), THREADS, 0, iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
