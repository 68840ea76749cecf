/* rows.cu: softmax and its gradient on CUDA devices (rows.cuh): a group of threads a row, up to 1024 elements in its
 * registers; a block for the forward of rows up to 11,776 in shared memory; longer ones are read several times. */
#include "kernels/cuda/launch.cuh"
#include "kernels/softmax/rows.cuh"
#include "kernels/softmax/softmax.h"

namespace {
struct rows {
  const float *x, *dy; /* backward: x is y */
  float *out;
  int64_t n_rows, n;
  bool log, whole;
};
/* This thread's row, and whether it is there; the others work along on the last, since all of a warp shuffle. */
template <int V> __device__ __forceinline__ bool row_of_thread(const rows &r, int64_t *row) {
  const int64_t number = ((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / (ISO__LANES / V);
  *row = number < r.n_rows ? number : r.n_rows - 1;
  return number == *row;
}

template <int V, bool whole, int rounds>
__global__ void __launch_bounds__(ROWS_THREADS, 3) forward_registers(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  float v[rounds][V];
  load_row<V, whole>(v, r.x + row * r.n, (int)r.n, -INFINITY);
  const softmax_row s = softmax_of_registers(v, !r.log);
  if (!is_there) return;
  const float with = r.log ? v_log(s.sum) : 1 / s.sum;
#pragma unroll
  for (int i = 0; i < rounds; i++)
#pragma unroll
    for (int k = 0; k < V; k++) v[i][k] = s.m == -INFINITY ? 0 : r.log ? v[i][k] - with : v[i][k] * with;
  store_row<V, whole>(r.out + row * r.n, (int)r.n, v);
}

__global__ void __launch_bounds__(ROWS_THREADS) forward_block(const __grid_constant__ rows r) {
  extern __shared__ __align__(16) float values[];
  __shared__ float lanes[ROWS_THREADS];
  const float *x = r.x + (int64_t)blockIdx.x * r.n;
  float *y = r.out + (int64_t)blockIdx.x * r.n;
  const int n = (int)r.n;
  float m = -INFINITY;
#pragma unroll 4
  for (int i = threadIdx.x; i < n; i += ROWS_THREADS) {
    const float v = __ldg(x + i);
    values[i] = v, m = m != m || v <= m ? m : v;
  }
  m = block_max(m, lanes) + 0.0f;
  if (m == -INFINITY) {
    for (int i = threadIdx.x; i < n; i += ROWS_THREADS) y[i] = 0;
    return;
  }
#pragma unroll 4
  for (int i = threadIdx.x; i < n; i += ROWS_THREADS) values[i] = v_exp(values[i] - m);
  __syncthreads();
  const float sum = block_lanes(values, n, lanes), with = r.log ? v_log(sum) : 1 / sum;
#pragma unroll 4
  for (int i = threadIdx.x; i < n; i += ROWS_THREADS) y[i] = r.log ? (__ldg(x + i) - m) - with : values[i] * with;
}

template <int V> __global__ void __launch_bounds__(ROWS_THREADS) forward_streamed(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  const float *x = r.x + row * r.n;
  float *y = r.out + row * r.n;
  const softmax_row s = softmax_of_row<V>(x, r.log || !is_there ? NULL : y, r.n, r.whole);
  if (!is_there) return;
  if (r.log) {
    log_softmax_row<V>(s, x, y, r.n, r.whole);
    return;
  }
  const float factor = 1 / s.sum;
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < r.n; i += ISO__LANES) {
    float v[V];
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = i + k < r.n && s.m != -INFINITY ? y[i + k] * factor : 0;
    row_store<V>(y, i, r.n, r.whole, v);
  }
}

__device__ __forceinline__ float gradient(const rows &r, float y, float dy, float sum) {
  return r.log ? fmaf(-v_exp(y), sum, dy) : y * (dy - sum);
}
template <int V, bool whole, int rounds>
__global__ void __launch_bounds__(ROWS_THREADS) backward_registers(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  float y[rounds][V], dy[rounds][V], lane[V] = {};
  load_row<V, whole>(dy, r.dy + row * r.n, (int)r.n, 0);
  load_row<V, whole>(y, r.x + row * r.n, (int)r.n, 0);
#pragma unroll
  for (int i = 0; i < rounds; i++) /* beyond the end: zeros, which change no lane */
#pragma unroll
    for (int k = 0; k < V; k++) lane[k] = r.log ? lane[k] + dy[i][k] : fmaf(dy[i][k], y[i][k], lane[k]);
  const float sum = lanes_tree<V>(lane) + 0.0f;
  if (!is_there) return;
#pragma unroll
  for (int i = 0; i < rounds; i++)
#pragma unroll
    for (int k = 0; k < V; k++) dy[i][k] = gradient(r, y[i][k], dy[i][k], sum);
  store_row<V, whole>(r.out + row * r.n, (int)r.n, dy);
}
template <int V> __global__ void __launch_bounds__(ROWS_THREADS) backward_streamed(const __grid_constant__ rows r) {
  int64_t row;
  const bool is_there = row_of_thread<V>(r, &row);
  const float *y = r.x + row * r.n, *dy = r.dy + row * r.n;
  const float sum = lanes_of_row<V>(r.n, [&](float(&lane)[V], int64_t i) {
    float v[V], w[V] = {};
    row_items<V>(v, dy, i, r.n, r.whole, 0);
    if (!r.log) row_items<V>(w, y, i, r.n, r.whole, 0);
#pragma unroll
    for (int k = 0; k < V; k++) lane[k] = r.log ? lane[k] + v[k] : fmaf(v[k], w[k], lane[k]);
  });
  if (!is_there) return;
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < r.n; i += ISO__LANES) {
    float v[V], w[V];
    row_items<V>(v, dy, i, r.n, r.whole, 0);
    row_items<V>(w, y, i, r.n, r.whole, 0);
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = gradient(r, w[k], v[k], sum);
    row_store<V>(r.out + row * r.n, i, r.n, r.whole, v);
  }
}

typedef void kernel(rows);
void launch(const iso__call *call, kernel *const kernels[ROW_KERNELS], rows r) {
  if (r.n_rows == 0 || r.n == 0) return;
  const bool fours = rows_are_whole(4, r.n, r.x, r.dy, r.out), twos = rows_are_whole(2, r.n, r.x, r.dy, r.out);
  const int which = row_kernel(r.n, fours, twos);
  r.whole = twos;
  kernels[which]<<<iso__cuda_blocks(r.n_rows * row_group(which), ROWS_THREADS), ROWS_THREADS, 0, iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
} // namespace

extern "C" const char *iso__softmax_cuda_applicable(const iso__problem *problem) {
  return ((const iso_softmax_problem *)problem)->rows >= INT32_MAX ? "numbers rows in 31 bits" : NULL;
}
extern "C" void iso__softmax_fwd_cuda_run(const iso__call *call) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)call->problem;
  const iso_softmax_args *a = (const iso_softmax_args *)call->args;
  kernel *const kernels[ROW_KERNELS] = {forward_registers<4, true, 2>,  forward_registers<4, true, 8>,   forward_registers<2, true, 16>,
                                        forward_registers<2, false, 2>, forward_registers<2, false, 16>, forward_streamed<2>};
  const rows r = {(const float *)a->x, NULL, (float *)a->y, p->rows, p->n, (bool)p->log, false};
  if (p->rows == 0 || p->n <= 1024 || p->n > ROW_IN_SHARED) {
    launch(call, kernels, r);
    return;
  }
  forward_block<<<(unsigned)p->rows, ROWS_THREADS, (size_t)p->n * sizeof(float), iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
extern "C" void iso__softmax_bwd_cuda_run(const iso__call *call) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)call->problem;
  const iso_softmax_args *a = (const iso_softmax_args *)call->args;
  kernel *const kernels[ROW_KERNELS] = {backward_registers<4, true, 2>,  backward_registers<4, true, 8>,   backward_registers<2, true, 16>,
                                        backward_registers<2, false, 2>, backward_registers<2, false, 16>, backward_streamed<2>};
  launch(call, kernels, {(const float *)a->y_saved, (const float *)a->dy, (float *)a->dx, p->rows, p->n, (bool)p->log, false});
}
