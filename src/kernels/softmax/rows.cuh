/* rows.cuh: softmax and log-softmax of a row by a group of threads (kernels/cuda/rows.cuh), for softmax and cross
 * entropy. */
#ifndef ISO_KERNELS_SOFTMAX_ROWS_CUH
#define ISO_KERNELS_SOFTMAX_ROWS_CUH
#include "kernels/cuda/rows.cuh"
#include "numeric/math_f32.h"

/* m = amax, a zero as +0: −inf: the row's results are zeros. sum = lanes(exp(x − m)). Groups of one warp go together,
 * since they shuffle together: a row of −inf gets a sum that nobody uses. */
struct softmax_row {
  float m, sum;
};

/* Of a row in registers, beyond its end −inf: those terms are +0, or the sum is a NaN anyway. v becomes x − m, or with
 * `exponentials` exp(x − m). */
template <int V, int rounds>
static __device__ __forceinline__ softmax_row softmax_of_registers(float (&v)[rounds][V], bool exponentials) {
  float m = -INFINITY, lane[V] = {};
#pragma unroll
  for (int r = 0; r < rounds; r++)
#pragma unroll
    for (int k = 0; k < V; k++) m = m != m || v[r][k] <= m ? m : v[r][k];
  m = group_max<ISO__LANES / V>(m) + 0.0f;
#pragma unroll
  for (int r = 0; r < rounds; r++)
#pragma unroll
    for (int k = 0; k < V; k++) {
      v[r][k] = v[r][k] - m;
      const float e = v_exp(v[r][k]);
      lane[k] = lane[k] + e;
      if (exponentials) v[r][k] = e;
    }
  return {m, lanes_tree<V>(lane) + 0.0f};
}

/* Of a row that is read twice; `e` (NULL: unwanted) takes exp(x − m), each thread its own elements; it may be x. */
template <int V>
static __device__ __forceinline__ softmax_row softmax_of_row(const float *x, float *e, int64_t n, bool whole) {
  float m = -INFINITY;
#pragma unroll 4
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < n; i += ISO__LANES) {
    float v[V];
    row_items<V>(v, x, i, n, whole, -INFINITY);
#pragma unroll
    for (int k = 0; k < V; k++) m = m != m || v[k] <= m ? m : v[k];
  }
  m = group_max<ISO__LANES / V>(m) + 0.0f;
  const float sum = lanes_of_row<V>(n, [&](float(&lane)[V], int64_t i) {
    float v[V];
    row_items<V>(v, x, i, n, whole, -INFINITY);
#pragma unroll
    for (int k = 0; k < V; k++) {
      v[k] = v_exp(v[k] - m);
      if (whole || i + k < n) lane[k] = lane[k] + v[k];
    }
    if (e) row_store<V>(e, i, n, whole, v);
  });
  return {m, sum};
}

/* y = (x − m) − log(sum): of one element, and of a row. */
static __device__ __forceinline__ float log_softmax_at(const softmax_row &row, float x) {
  return row.m == -INFINITY ? 0 : (x - row.m) - v_log(row.sum);
}
template <int V>
static __device__ __forceinline__ void log_softmax_row(const softmax_row &row, const float *x, float *y, int64_t n, bool whole) {
  const float log_sum = v_log(row.sum);
#pragma unroll 4
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < n; i += ISO__LANES) {
    float v[V];
    row_items<V>(v, x, i, n, whole, 0);
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = row.m == -INFINITY ? 0 : (v[k] - row.m) - log_sum;
    row_store<V>(y, i, n, whole, v);
  }
}

/* ---- a row of 1025 … ROW_IN_SHARED elements by a block, in shared memory ---- */

enum { ROW_IN_SHARED = 11776 }; /* within three row panels, 46 KiB */

/* The block's largest of its threads' values; `warps` is shared. */
static __device__ __forceinline__ float block_max(float m, float *warps) {
  m = group_max<32>(m);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = m;
  __syncthreads();
  for (int w = 0; w < ROWS_THREADS / 32; w++) m = m != m || m > warps[w] ? m : warps[w];
  __syncthreads();
  return m;
}
/* lanes over e[0 … n − 1]: 64 threads a panel walk their lanes, 16 add them up. */
static __device__ __forceinline__ float block_lanes(const float *e, int n, float *lanes) {
  const int panel = (int)threadIdx.x / ISO__LANES, n_panels = (n + ISO__ROW_PANEL - 1) / ISO__ROW_PANEL;
  float lane = 0;
  const int end = n < (panel + 1) * ISO__ROW_PANEL ? n : (panel + 1) * ISO__ROW_PANEL;
#pragma unroll 8
  for (int i = panel * ISO__ROW_PANEL + (int)threadIdx.x % ISO__LANES; i < end; i += ISO__LANES) lane = lane + e[i];
  lanes[threadIdx.x] = lane;
  __syncthreads();
  float sum = 0;
  if (threadIdx.x < 64) { /* groups of 16: panel by panel */
    float four[4];
#pragma unroll
    for (int k = 0; k < 4; k++) four[k] = lanes[threadIdx.x * 4 + k];
    sum = lanes_tree<4>(four);
  }
  __syncthreads();
  if (threadIdx.x < 64 && threadIdx.x % 16 == 0) lanes[threadIdx.x / 16] = sum;
  __syncthreads();
  sum = lanes[0];
  if (n_panels > 1) sum = sum + lanes[1];
  if (n_panels > 2) sum = sum + lanes[2];
  __syncthreads();
  return sum + 0.0f;
}
#endif
