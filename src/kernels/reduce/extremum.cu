/* extremum.cu: largest and smallest elements of f32 rows, and where they are, on CUDA devices: a warp or a block a row.
 * Choosing the first NaN, else the lowest place of equals is associative, so threads may take any elements in any
 * order. */
#include "kernels/cuda/launch.cuh"
#include "kernels/reduce/reduce.h"

namespace {
enum { THREADS = 256 };
struct rows {
  const float *x;
  float *y;
  int64_t *index; /* NULL: unwanted */
  int64_t n_rows, n;
  bool largest, magnitude;
};
struct choice {
  float v;
  int64_t at; /* −1: none */
};
__device__ __forceinline__ choice better(const choice &a, const choice &b, bool largest) {
  if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
  const bool a_nan = a.v != a.v, b_nan = b.v != b.v;
  const bool a_wins = a_nan || (!b_nan && (largest ? a.v > b.v : a.v < b.v));
  const bool b_wins = b_nan || (!a_nan && (largest ? b.v > a.v : b.v < a.v));
  if (a_wins != b_wins) return a_wins ? a : b;
  return a.at < b.at ? a : b;
}
/* `group` threads a row. */
template <int group> __global__ void __launch_bounds__(THREADS) row_extrema(const __grid_constant__ rows r) {
  __shared__ choice of_warp[THREADS / 32];
  const int64_t number = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / group;
  const int64_t row = number < r.n_rows ? number : r.n_rows - 1; /* shuffles need all of a warp */
  const float *x = r.x + row * r.n;
  choice best = {0, -1};
#pragma unroll 4
  for (int64_t i = threadIdx.x % group; i < r.n; i += group) {
    const float v = r.magnitude ? fabsf(__ldg(x + i)) : __ldg(x + i);
    best = better(best, {v, i}, r.largest);
  }
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const choice other = {__shfl_xor_sync(0xffffffffu, best.v, step), __shfl_xor_sync(0xffffffffu, best.at, step)};
    best = better(best, other, r.largest);
  }
  if constexpr (group > 32) {
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int w = 1; w < THREADS / 32; w++) best = better(best, of_warp[w], r.largest);
  }
  if (threadIdx.x % group || number != row) return;
  if (r.y) r.y[row] = best.v + 0.0f; /* a zero is +0 */
  if (r.index) r.index[row] = best.at;
}
} // namespace

extern "C" const char *iso__reduce_extremum_cuda_applicable(const iso__problem *problem) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  if (!iso__reduce_is_extremum((iso__reduce_fn)p->fn)) return "computes extrema";
  return p->outer >= INT32_MAX ? "numbers rows in 31 bits" : p->n == 0 ? "rows hold something" : NULL;
}
extern "C" void iso__reduce_extremum_cuda_run(const iso__call *call) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)call->problem;
  const iso_reduce_args *a = (const iso_reduce_args *)call->args;
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  if (p->outer == 0) return;
  rows r = {};
  r.x = (const float *)a->x, r.n_rows = p->outer, r.n = p->n;
  r.largest = iso__reduce_is_largest(fn), r.magnitude = iso__reduce_is_magnitude(fn);
  if (iso__reduce_is_index(fn)) r.index = (int64_t *)a->y;
  else r.y = (float *)a->y, r.index = iso__reduce_has_index(fn) ? (int64_t *)a->index : NULL;
  if (p->n > 2048) row_extrema<THREADS><<<(unsigned)p->outer, THREADS, 0, iso__cuda_stream(call)>>>(r);
  else row_extrema<32><<<iso__cuda_blocks(p->outer * 32, THREADS), THREADS, 0, iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
