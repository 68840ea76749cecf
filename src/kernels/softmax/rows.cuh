/* rows.cuh: softmax and log-softmax of a row by a group of threads (kernels/cuda/rows.cuh), for softmax and cross entropy. */
#ifndef ISO_KERNELS_SOFTMAX_ROWS_CUH
#define ISO_KERNELS_SOFTMAX_ROWS_CUH
#include "kernels/cuda/rows.cuh"
#include "numeric/math_f32.h"

/* m = amax, a zero as +0: −inf: the row's results are zeros. sum = lanes(exp(x − m)). */
struct softmax_row {
  float m, sum;
};

/* `e` (NULL: unwanted) takes exp(x − m), each thread its own elements; it may be x. Groups of one warp go together, since
 * they shuffle together: a row of −inf gets a sum that nobody uses. */
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

/* y = (x − m) − log(sum), which is returned for one element. */
static __device__ __forceinline__ float log_softmax_at(const softmax_row &row, float x) {
  return row.m == -INFINITY ? 0 : (x - row.m) - v_log(row.sum);
}
template <int V>
static __device__ __forceinline__ void log_softmax_row(const softmax_row &row, const float *x, float *y, int64_t n, bool whole) {
  const float log_sum = v_log(row.sum);
  for (int64_t i = (int)threadIdx.x % (ISO__LANES / V) * V; i < n; i += ISO__LANES) {
    float v[V];
    row_items<V>(v, x, i, n, whole, 0);
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = row.m == -INFINITY ? 0 : (v[k] - row.m) - log_sum;
    row_store<V>(y, i, n, whole, v);
  }
}
#endif
