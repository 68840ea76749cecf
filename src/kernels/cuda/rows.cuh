/* rows.cuh: sums of rows by 64 lanes on CUDA devices: a group of 16 or 32 threads holds the lanes of a row, 4 or 2 each,
 * side by side, so that the tree is additions within a thread, then shuffles with neighbours. Row panels of 4096. */
#ifndef ISO_KERNELS_ROWS_CUH
#define ISO_KERNELS_ROWS_CUH
#include <stdint.h>
#include "numeric/order.h"

enum { ROWS_THREADS = 256 };

/* Elements first … first + V − 1 of n, beyond the end `idle`; `whole`: V divides n and p lies on V items. */
template <int V> static __device__ __forceinline__ void row_items(float (&v)[V], const float *p, int64_t first, int64_t n, bool whole, float idle) {
  if (whole) {
    if constexpr (V == 4) {
      const float4 w = __ldg((const float4 *)(p + first));
      v[0] = w.x, v[1] = w.y, v[2] = w.z, v[3] = w.w;
    } else {
      const float2 w = __ldg((const float2 *)(p + first));
      v[0] = w.x, v[1] = w.y;
    }
  } else {
#pragma unroll
    for (int k = 0; k < V; k++) v[k] = first + k < n ? __ldg(p + first + k) : idle;
  }
}
template <int V> static __device__ __forceinline__ void row_store(float *p, int64_t first, int64_t n, bool whole, const float (&v)[V]) {
  if (whole) {
    if constexpr (V == 4) *(float4 *)(p + first) = make_float4(v[0], v[1], v[2], v[3]);
    else *(float2 *)(p + first) = make_float2(v[0], v[1]);
  } else {
#pragma unroll
    for (int k = 0; k < V; k++)
      if (first + k < n) p[first + k] = v[k];
  }
}
/* Whether rows of n may be read V items at a time. */
static inline bool rows_are_whole(int V, int64_t n, const void *a, const void *b = NULL, const void *c = NULL, const void *d = NULL) {
  return n % V == 0 && (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d) & (uintptr_t)(4 * V - 1)) == 0;
}

/* A whole row of up to 64·rounds elements in a group's registers: round r holds elements 64·r + V·thread … */
template <int V, bool whole, int rounds>
static __device__ __forceinline__ void load_row(float (&v)[rounds][V], const float *p, int n, float idle) {
  const int first = (int)threadIdx.x % (ISO__LANES / V) * V;
#pragma unroll
  for (int r = 0; r < rounds; r++) {
    const int i = r * ISO__LANES + first;
    if (!whole) {
      row_items<V>(v[r], p, i, n, false, idle);
    } else if (i < n) {
      row_items<V>(v[r], p, i, n, true, idle);
    } else {
#pragma unroll
      for (int k = 0; k < V; k++) v[r][k] = idle;
    }
  }
}
template <int V, bool whole, int rounds>
static __device__ __forceinline__ void store_row(float *p, int n, const float (&v)[rounds][V]) {
  const int first = (int)threadIdx.x % (ISO__LANES / V) * V;
#pragma unroll
  for (int r = 0; r < rounds; r++) {
    const int i = r * ISO__LANES + first;
    if (!whole || i < n) row_store<V>(p, i, n, whole, v[r]);
  }
}
/* Which of six kernels takes rows of n: <4, true, 2>, <4, true, 8>, <2, true, 16>, <2, false, 2>, <2, false, 16> in
 * registers, or the last one, which reads them several times. */
enum { ROW_KERNELS = 6, ROW_STREAMED = 5 };
static inline int row_kernel(int64_t n, bool fours, bool twos) {
  if (n > 1024) return ROW_STREAMED;
  if (fours && n <= 512) return n > 128;
  return n <= 128 ? 3 : twos ? 2 : 4;
}
static inline int row_group(int kernel) { return kernel < 2 ? 16 : 32; } /* threads */

/* The tree over the lanes; every thread of the group gets it. */
template <int V> static __device__ __forceinline__ float lanes_tree(const float (&lane)[V]) {
  float sum;
  if constexpr (V == 4) sum = (lane[0] + lane[1]) + (lane[2] + lane[3]);
  else sum = lane[0] + lane[1];
#pragma unroll
  for (int step = 1; step < ISO__LANES / V; step *= 2) sum = sum + __shfl_xor_sync(0xffffffffu, sum, step);
  return sum;
}
/* The larger one, a NaN if there is one; a zero may be either. */
static __device__ __forceinline__ float max_or_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float m;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
  return m;
#else
  return a != a || a > b ? a : b;
#endif
}
/* The largest of the group's values, likewise. */
template <int G> static __device__ __forceinline__ float group_max(float m) {
#pragma unroll
  for (int step = 1; step < G; step *= 2) m = max_or_nan(m, __shfl_xor_sync(0xffffffffu, m, step));
  return m;
}

/* The tree over panel sums as they come, as numeric/lanes.h keeps it. */
struct panel_tree {
  float waiting[40];
  int64_t n;
};
static __device__ __forceinline__ void panel_push(panel_tree &p, float sum) {
  int level = 0;
  for (; p.n >> level & 1; level++) sum = p.waiting[level] + sum;
  p.waiting[level] = sum, p.n++;
}
static __device__ __forceinline__ float panel_end(const panel_tree &p) {
  int level = 0;
  if (!p.n) return 0;
  while (!(p.n >> level & 1)) level++;
  float sum = p.waiting[level];
  for (level++; p.n >> level; level++)
    if (p.n >> level & 1) sum = p.waiting[level] + sum;
  return sum;
}

/* lanes over n terms that add(lanes, first element of this thread's next V) adds to; called by whole groups of
 * ISO__LANES/V threads, all of which get the sum. All threads of a warp must have the same n. */
template <int V, class Add> static __device__ __forceinline__ float lanes_of_row(int64_t n, Add add) {
  const int t = (int)threadIdx.x % (ISO__LANES / V);
  if (n <= ISO__ROW_PANEL) {
    float lane[V] = {};
#pragma unroll 4
    for (int i = t * V; i < (int)n; i += ISO__LANES) add(lane, i);
    return lanes_tree<V>(lane) + 0.0f;
  }
  panel_tree panels;
  panels.n = 0;
  for (int64_t begin = 0; begin < n; begin += ISO__ROW_PANEL) {
    const int64_t end = n - begin < ISO__ROW_PANEL ? n : begin + ISO__ROW_PANEL;
    float lane[V] = {};
#pragma unroll 4
    for (int64_t i = begin + t * V; i < end; i += ISO__LANES) add(lane, i);
    panel_push(panels, lanes_tree<V>(lane));
  }
  return panel_end(panels) + 0.0f;
}
#endif
