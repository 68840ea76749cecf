/* ordered.cuh: a few neighbouring channels a thread, and their `ordered` sums term by term. */
#ifndef ISO_KERNELS_CUDA_ORDERED_CUH
#define ISO_KERNELS_CUDA_ORDERED_CUH
#include <stdint.h>
#include "numeric/order.h"

/* Group `at` of V floats; with four p lies on 16 bytes. Inputs that nobody writes meanwhile. */
template <int V> struct items {
  float v[V];
};
template <int V> static __device__ __forceinline__ items<V> read(const float *p, int64_t at) {
  items<V> x;
  if constexpr (V == 4) {
    const float4 w = __ldg((const float4 *)p + at);
    x.v[0] = w.x, x.v[1] = w.y, x.v[2] = w.z, x.v[3] = w.w;
  } else {
    x.v[0] = __ldg(p + at);
  }
  return x;
}
template <int V> static __device__ __forceinline__ void write(float *p, int64_t at, const items<V> &x) {
  if constexpr (V == 4) ((float4 *)p)[at] = make_float4(x.v[0], x.v[1], x.v[2], x.v[3]);
  else p[at] = x.v[0];
}

/* `ordered` sums of V channels: add to acc, then sums_next. Start from {}. */
template <int V> struct sums {
  float acc[V], panel[V], total[V];
  int n;
};
template <int V> static __device__ __forceinline__ void sums_next(sums<V> &s) {
  if (++s.n % ISO__CHUNK) return;
#pragma unroll
  for (int k = 0; k < V; k++) s.panel[k] = s.panel[k] + s.acc[k], s.acc[k] = 0;
  if (s.n % ISO__PANEL) return;
#pragma unroll
  for (int k = 0; k < V; k++) s.total[k] = s.total[k] + s.panel[k], s.panel[k] = 0;
}
template <int V> static __device__ __forceinline__ float sums_end(const sums<V> &s, int k) { return s.total[k] + (s.panel[k] + s.acc[k]); }
#endif
