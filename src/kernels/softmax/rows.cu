/* rows.cu: softmax and its gradient on CUDA devices: the forward pass is forward.cuh's; the gradient has the same three
 * ways: up to 1024 elements in a group's registers, a thread a lane (lanes.cuh) up to 32,768, or read twice. */
#include "kernels/softmax/forward.cuh"
#include "kernels/softmax/softmax.h"

namespace {
struct rows {
  const float *y, *dy;
  float *dx;
  int64_t n_rows, n;
  bool log;
};

__device__ __forceinline__ float gradient(const rows &r, float y, float dy, float sum) {
  return r.log ? fmaf(-v_exp(y), sum, dy) : y * (dy - sum);
}
__device__ __forceinline__ float added(const rows &r, float lane, float y, float dy) { return r.log ? lane + dy : fmaf(dy, y, lane); }

template <int V, bool whole, int rounds>
__global__ void __launch_bounds__(ROWS_THREADS) backward_registers(const __grid_constant__ rows r) {
  constexpr int group = ISO__LANES / V;
  const int64_t number = ((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / group;
  const int64_t row = number < r.n_rows ? number : r.n_rows - 1; /* all of a warp shuffle */
  const int n = (int)r.n;
  float y[rounds][V], dy[rounds][V], lane[V] = {};
  load_row<V, whole>(dy, r.dy + row * n, n, 0);
  load_row<V, whole>(y, r.y + row * n, n, 0);
#pragma unroll
  for (int i = 0; i < rounds; i++) /* beyond the end: zeros, which change no lane */
#pragma unroll
    for (int k = 0; k < V; k++) lane[k] = added(r, lane[k], y[i][k], dy[i][k]);
  const float sum = lanes_tree<V>(lane) + 0.0f;
  if (number != row) return;
#pragma unroll
  for (int i = 0; i < rounds; i++)
    if (i * ISO__LANES < n)
#pragma unroll
      for (int k = 0; k < V; k++) dy[i][k] = gradient(r, y[i][k], dy[i][k], sum);
  store_row<V, whole>(r.dx + row * n, n, dy);
}

/* y is read again, from the caches. */
template <int held, int kept>
__global__ void __launch_bounds__(kept ? MOST_LANES : ISO__LANES, kept ? 2 : held == PANEL_ROUNDS ? 10 : 16) backward_lanes(const __grid_constant__ rows r) {
  extern __shared__ float kept_values[];
  __shared__ float warps[MOST_LANES / 32], panels[MOST_PANELS];
  const lane_part part = lane_part_of(r.n, 0);
  const int64_t first = blockIdx.x * r.n + part.begin;
  const float *y = r.y + first, *dy = r.dy + first;
  float *dx = r.dx + first, *mine = kept_values + threadIdx.x;
  float v[held], lane = 0;
  each_round<0, held>(part, [&](int j, bool there) { v[j] = there ? __ldg(dy + j * ISO__LANES) : 0; });
  constexpr int batch = kept ? 8 : 16;
  each_batch<0, held, batch>([&]<int b>() {
    float w[batch] = {}; /* beyond the end zeros, which change no lane */
    if (!r.log) each_round<b, b + batch>(part, [&](int j, bool there) { w[j - b] = there ? y[j * ISO__LANES] : 0; });
    each_round<b, b + batch>(part, [&](int j, bool) { lane = added(r, lane, w[j - b], v[j]); });
  });
  each_batch<held, held + kept, batch>([&]<int b>() {
    float w[batch] = {}, g[batch];
    each_round<b, b + batch>(part, [&](int j, bool there) { g[j - b] = there ? __ldg(dy + j * ISO__LANES) : 0; });
    if (!r.log) each_round<b, b + batch>(part, [&](int j, bool there) { w[j - b] = there ? y[j * ISO__LANES] : 0; });
    each_round<b, b + batch>(part, [&](int j, bool) { mine[(j - held) * MOST_LANES] = g[j - b], lane = added(r, lane, w[j - b], g[j - b]); });
  });
  panel_sums(lane, warps, panels);
  const float sum = tree_of_eight(panels, (int)blockDim.x / ISO__LANES);
  each_batch<0, held + kept, batch>([&]<int b>() {
    float w[batch];
    each_round<b, b + batch>(part, [&](int j, bool there) { w[j - b] = there ? y[j * ISO__LANES] : 0; });
    each_round<b, b + batch>(part, [&](int j, bool there) {
      const float g = b < held ? v[b < held ? j : 0] : mine[(j - held) * MOST_LANES];
      if (there) dx[j * ISO__LANES] = gradient(r, w[j - b], g, sum);
    });
  });
}

__global__ void __launch_bounds__(MOST_LANES) backward_long(const __grid_constant__ rows r) {
  __shared__ float warps[MOST_LANES / 32], panels[MOST_PANELS];
  const int64_t first = blockIdx.x * r.n;
  const float *y = r.y + first, *dy = r.dy + first;
  const float sum = lanes_of_long(r.n, warps, panels, [&](float lane, int64_t i) { return added(r, lane, r.log ? 0 : __ldg(y + i), __ldg(dy + i)); });
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < r.n; i += MOST_LANES) r.dx[first + i] = gradient(r, y[i], dy[i], sum);
}
} // namespace

extern "C" const char *iso__softmax_cuda_applicable(const iso__problem *problem) {
  return ((const iso_softmax_problem *)problem)->rows >= INT32_MAX ? "numbers rows in 31 bits" : NULL;
}
extern "C" void iso__softmax_fwd_cuda_run(const iso__call *call) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)call->problem;
  const iso_softmax_args *a = (const iso_softmax_args *)call->args;
  softmax_rows r = {};
  r.x = (const float *)a->x, r.y = (float *)a->y, r.n_rows = p->rows, r.n = p->n, r.log = p->log;
  softmax_launch<false>(call, r);
}
extern "C" void iso__softmax_bwd_cuda_run(const iso__call *call) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)call->problem;
  const iso_softmax_args *a = (const iso_softmax_args *)call->args;
  const rows r = {(const float *)a->y_saved, (const float *)a->dy, (float *)a->dx, p->rows, p->n, (bool)p->log};
  cudaStream_t stream = iso__cuda_stream(call);
  if (r.n_rows == 0 || r.n == 0) return;
  if (r.n <= 1024) {
    void (*const kernels[])(rows) = {backward_registers<4, true, 2>, backward_registers<4, true, 8>, backward_registers<2, true, 16>,
                                     backward_registers<2, false, 2>, backward_registers<2, false, 16>};
    const int which = row_kernel(r.n, rows_are_whole(4, r.n, r.y, r.dy, r.dx), rows_are_whole(2, r.n, r.y, r.dy, r.dx));
    kernels[which]<<<iso__cuda_blocks(r.n_rows * row_group(which), ROWS_THREADS), ROWS_THREADS, 0, stream>>>(r);
  } else if (r.n <= ISO__ROW_PANEL) {
    backward_lanes<PANEL_ROUNDS, 0><<<(unsigned)r.n_rows, ISO__LANES, 0, stream>>>(r);
  } else if (r.n <= ROW_IN_LANES) {
    constexpr int n_bytes = LANES_KEPT * MOST_LANES * (int)sizeof(float);
    iso__cuda_shared(backward_lanes<LANES_HELD, LANES_KEPT>, n_bytes);
    backward_lanes<LANES_HELD, LANES_KEPT><<<(unsigned)r.n_rows, row_lanes(r.n), n_bytes, stream>>>(r);
  } else {
    backward_long<<<(unsigned)r.n_rows, MOST_LANES, 0, stream>>>(r);
  }
  iso__cuda_launched(call);
}
