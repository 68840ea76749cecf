/* layer.cuh: rows whose elements lie side by side with a γ and β of their own each: layer and RMS norm, up to 1024
 * elements in a group's registers, so that memory is read once. */
#ifndef ISO_KERNELS_ROW_NORM_LAYER_CUH
#define ISO_KERNELS_ROW_NORM_LAYER_CUH
#include "kernels/cuda/rows.cuh"

struct layer {
  const float *x, *gamma, *beta, *dy;
  float *mean, *rstd, *out;
  int64_t n_rows;
  int n;
  float eps;
  bool rms;
};
/* Whether element k of round r is one of the row. */
template <int V> static __device__ __forceinline__ bool is_inside(const layer &l, int r, int k) {
  return r * ISO__LANES + (int)threadIdx.x % (ISO__LANES / V) * V + k < l.n;
}
template <int V> static __device__ __forceinline__ bool layer_row(const layer &l, int64_t *row) {
  const int64_t number = ((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / (ISO__LANES / V);
  *row = number < l.n_rows ? number : l.n_rows - 1; /* shuffles need all of a warp */
  return number == *row;
}

template <int V, bool whole, int rounds>
static __global__ void __launch_bounds__(ROWS_THREADS) layer_forward(const __grid_constant__ layer l) {
  int64_t row;
  const bool is_there = layer_row<V>(l, &row);
  float v[rounds][V], parameter[rounds][V], lane[V] = {}, mean = 0;
  load_row<V, whole>(v, l.x + row * l.n, l.n, 0);
  if (!l.rms) {
#pragma unroll
    for (int r = 0; r < rounds; r++)
#pragma unroll
      for (int k = 0; k < V; k++) lane[k] = lane[k] + v[r][k]; /* beyond the end zeros, which change no lane */
    mean = (lanes_tree<V>(lane) + 0.0f) / (float)l.n;
  }
#pragma unroll
  for (int k = 0; k < V; k++) lane[k] = 0;
#pragma unroll
  for (int r = 0; r < rounds; r++)
#pragma unroll
    for (int k = 0; k < V; k++) {
      if (!l.rms) v[r][k] = v[r][k] - mean;
      lane[k] = is_inside<V>(l, r, k) ? fmaf(v[r][k], v[r][k], lane[k]) : lane[k];
    }
  const float rstd = 1 / sqrtf((lanes_tree<V>(lane) + 0.0f) / (float)l.n + l.eps);
  if (!is_there) return;
  if (threadIdx.x % (ISO__LANES / V) == 0) {
    if (!l.rms) l.mean[row] = mean;
    l.rstd[row] = rstd;
  }
#pragma unroll
  for (int r = 0; r < rounds; r++)
#pragma unroll
    for (int k = 0; k < V; k++) v[r][k] = v[r][k] * rstd;
  if (l.gamma) {
    float beta[V];
    load_row<V, whole>(parameter, l.gamma, l.n, 0);
    const int first = (int)threadIdx.x % (ISO__LANES / V) * V;
#pragma unroll
    for (int r = 0; r < rounds; r++) {
      const int i = r * ISO__LANES + first;
      if (l.beta && (!whole || i < l.n)) row_items<V>(beta, l.beta, i, l.n, whole, 0);
#pragma unroll
      for (int k = 0; k < V; k++) v[r][k] = l.beta ? fmaf(v[r][k], parameter[r][k], beta[k]) : v[r][k] * parameter[r][k];
    }
  } else if (l.beta) {
    load_row<V, whole>(parameter, l.beta, l.n, 0);
#pragma unroll
    for (int r = 0; r < rounds; r++)
#pragma unroll
      for (int k = 0; k < V; k++) v[r][k] = v[r][k] + parameter[r][k];
  }
  store_row<V, whole>(l.out + row * l.n, l.n, v);
}

template <int V, bool whole, int rounds>
static __global__ void __launch_bounds__(ROWS_THREADS) layer_backward(const __grid_constant__ layer l) {
  int64_t row;
  const bool is_there = layer_row<V>(l, &row);
  const float mean = l.rms ? 0 : l.mean[row], rstd = l.rstd[row];
  float h[rounds][V], g[rounds][V], lane[V] = {}, mean_g = 0;
  load_row<V, whole>(h, l.x + row * l.n, l.n, 0);
  load_row<V, whole>(g, l.dy + row * l.n, l.n, 0);
  const int first = (int)threadIdx.x % (ISO__LANES / V) * V;
#pragma unroll
  for (int r = 0; r < rounds; r++) {
    float gamma[V];
    const int i = r * ISO__LANES + first;
    if (l.gamma && (!whole || i < l.n)) row_items<V>(gamma, l.gamma, i, l.n, whole, 0);
#pragma unroll
    for (int k = 0; k < V; k++) {
      h[r][k] = (l.rms ? h[r][k] : h[r][k] - mean) * rstd;
      if (l.gamma) g[r][k] = g[r][k] * gamma[k];
      lane[k] = is_inside<V>(l, r, k) ? fmaf(g[r][k], h[r][k], lane[k]) : lane[k];
    }
  }
  const float gh = (lanes_tree<V>(lane) + 0.0f) / (float)l.n;
  if (!l.rms) {
#pragma unroll
    for (int k = 0; k < V; k++) lane[k] = 0;
#pragma unroll
    for (int r = 0; r < rounds; r++)
#pragma unroll
      for (int k = 0; k < V; k++) lane[k] = is_inside<V>(l, r, k) ? lane[k] + g[r][k] : lane[k];
    mean_g = (lanes_tree<V>(lane) + 0.0f) / (float)l.n;
  }
  if (!is_there) return;
#pragma unroll
  for (int r = 0; r < rounds; r++)
#pragma unroll
    for (int k = 0; k < V; k++) h[r][k] = rstd * fmaf(-h[r][k], gh, l.rms ? g[r][k] : g[r][k] - mean_g);
  store_row<V, whole>(l.out + row * l.n, l.n, h);
}
#endif
