/* forward.cuh: softmax and log-softmax of rows on CUDA devices, for softmax and for cross entropy (`loss`), which is the
 * log-softmax and one element of each row. A group of threads a row of up to 1024 elements, in registers; a thread a
 * lane (lanes.cuh) of up to 32,768; longer rows are read three times. */
#ifndef ISO_KERNELS_SOFTMAX_FORWARD_CUH
#define ISO_KERNELS_SOFTMAX_FORWARD_CUH
#include "kernels/cuda/launch.cuh"
#include "kernels/softmax/lanes.cuh"
#include "numeric/math_f32.h"

/* m = amax, a zero as +0: −inf: the row's results are zeros. sum = lanes(exp(x − m)), where x − m ≤ 0 or a NaN. */
struct softmax_rows {
  const float *x, *weights; /* weights, target, row_loss: cross entropy's */
  const int64_t *target;
  float *y, *row_loss;
  int64_t n_rows, n;
  bool log, whole;
};

/* The row's target and its element there, read before anything is written. */
struct row_target {
  int64_t at;
  float x;
};
template <bool loss> static __device__ __forceinline__ row_target target_of(const softmax_rows &r, int64_t row) {
  row_target t = {r.n, 0};
  if constexpr (loss) {
    t.at = __ldg(r.target + row);
    if (t.at != r.n) t.x = __ldg(r.x + row * r.n + t.at);
  }
  return t;
}
static __device__ __forceinline__ float log_softmax_at(float x, float m, float log_sum) {
  return m == -INFINITY ? 0 : (x - m) - log_sum;
}
template <bool loss>
static __device__ __forceinline__ void put_loss(const softmax_rows &r, int64_t row, const row_target &t, float m, float log_sum) {
  if constexpr (loss) {
    const float value = -log_softmax_at(t.x, m, log_sum);
    r.row_loss[row] = t.at == r.n ? 0 : r.weights ? __ldg(r.weights + t.at) * value : value;
  }
}

template <bool loss, int V, bool whole, int rounds>
static __global__ void __launch_bounds__(ROWS_THREADS, rounds * V > 16 ? 3 : 6) softmax_registers(const __grid_constant__ softmax_rows r) {
  constexpr int group = ISO__LANES / V;
  const int64_t number = ((int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x) / group;
  const int64_t row = number < r.n_rows ? number : r.n_rows - 1; /* all of a warp shuffle */
  const int n = (int)r.n;
  const row_target target = target_of<loss>(r, row);
  float v[rounds][V], m = -INFINITY, lane[V] = {};
  load_row<V, whole>(v, r.x + row * n, n, -INFINITY);
#pragma unroll
  for (int i = 0; i < rounds; i++)
#pragma unroll
    for (int k = 0; k < V; k++) m = max_or_nan(m, v[i][k]);
  m = group_max<group>(m) + 0.0f;
  const bool log = loss || r.log;
#pragma unroll
  for (int i = 0; i < rounds; i++) /* beyond the end −inf: those terms are +0, or the sum is a NaN anyway */
    if (i * ISO__LANES < n)
#pragma unroll
      for (int k = 0; k < V; k++) {
        v[i][k] = v[i][k] - m;
        const float e = v_exp_of_negative(v[i][k]);
        lane[k] = lane[k] + e;
        if (!log) v[i][k] = e;
      }
  const float sum = lanes_tree<V>(lane) + 0.0f;
  if (number != row) return;
  const float with = log ? v_log(sum) : 1 / sum;
  if (threadIdx.x % group == 0) put_loss<loss>(r, row, target, m, with);
  const bool empty = m == -INFINITY;
#pragma unroll
  for (int i = 0; i < rounds; i++)
    if (i * ISO__LANES < n)
#pragma unroll
      for (int k = 0; k < V; k++) v[i][k] = empty ? 0 : log ? v[i][k] - with : v[i][k] * with;
  store_row<V, whole>(r.y + row * n, n, v);
}

/* A block a row of up to eight panels: `held` of a lane's elements in registers, `kept` more in shared memory. */
template <bool loss, int held, int kept>
static __global__ void __launch_bounds__(kept ? MOST_LANES : ISO__LANES, kept ? 2 : held == PANEL_ROUNDS ? 10 : 16) softmax_lanes(const __grid_constant__ softmax_rows r) {
  extern __shared__ float kept_values[];
  __shared__ float warps[MOST_LANES / 32], panels[MOST_PANELS];
  const int64_t row = blockIdx.x;
  const lane_part part = lane_part_of(r.n, 0);
  const float *x = r.x + row * r.n + part.begin;
  float *y = r.y + row * r.n + part.begin;
  float *mine = kept_values + threadIdx.x;
  const row_target target = target_of<loss>(r, row);
  float v[held], m = -INFINITY;
  each_round<0, held>(part, [&](int j, bool there) { v[j] = there ? __ldg(x + j * ISO__LANES) : -INFINITY; });
  each_batch<held, held + kept, 8>([&]<int b>() {
    float w[8];
    each_round<b, b + 8>(part, [&](int j, bool there) { w[j - b] = there ? __ldg(x + j * ISO__LANES) : -INFINITY; });
    each_round<b, b + 8>(part, [&](int j, bool) { mine[(j - held) * MOST_LANES] = w[j - b], m = max_or_nan(m, w[j - b]); });
  });
  each_round<0, held>(part, [&](int j, bool) { m = max_or_nan(m, v[j]); });
  m = block_max(m, warps) + 0.0f;
  const bool log = loss || r.log, empty = m == -INFINITY;
  float lane = 0;
  each_round<0, held>(part, [&](int j, bool) {
    v[j] = v[j] - m;
    const float e = v_exp_of_negative(v[j]);
    lane = lane + e;
    if (!log) v[j] = e;
  });
  each_round<held, held + kept>(part, [&](int j, bool) {
    const float w = mine[(j - held) * MOST_LANES] - m, e = v_exp_of_negative(w);
    lane = lane + e, mine[(j - held) * MOST_LANES] = log ? w : e;
  });
  panel_sums(lane, warps, panels);
  const float sum = tree_of_eight(panels, (int)blockDim.x / ISO__LANES), with = log ? v_log(sum) : 1 / sum;
  if (threadIdx.x == 0) put_loss<loss>(r, row, target, m, with);
  each_round<0, held>(part, [&](int j, bool there) {
    if (there) y[j * ISO__LANES] = empty ? 0 : log ? v[j] - with : v[j] * with;
  });
  each_round<held, held + kept>(part, [&](int j, bool there) {
    const float w = mine[(j - held) * MOST_LANES];
    if (there) y[j * ISO__LANES] = empty ? 0 : log ? w - with : w * with;
  });
}

template <bool loss> static __global__ void __launch_bounds__(MOST_LANES) softmax_long(const __grid_constant__ softmax_rows r) {
  __shared__ float warps[MOST_LANES / 32], panels[MOST_PANELS];
  const int64_t row = blockIdx.x, n = r.n;
  const float *x = r.x + row * n;
  float *y = r.y + row * n, m = -INFINITY;
  const row_target target = target_of<loss>(r, row);
#pragma unroll 8
  for (int64_t i = threadIdx.x; i < n; i += MOST_LANES) m = max_or_nan(m, __ldg(x + i));
  m = block_max(m, warps) + 0.0f;
  const float sum = lanes_of_long(n, warps, panels, [&](float lane, int64_t i) { return lane + v_exp_of_negative(__ldg(x + i) - m); });
  const bool log = loss || r.log;
  const float with = log ? v_log(sum) : 1 / sum;
  if (threadIdx.x == 0) put_loss<loss>(r, row, target, m, with);
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < n; i += MOST_LANES) {
    const float d = x[i] - m;
    y[i] = m == -INFINITY ? 0 : log ? d - with : v_exp_of_negative(d) * with;
  }
}

/* Blocks of a panel's threads for each panel of a row. */
static inline unsigned row_lanes(int64_t n) { return (unsigned)((n + ISO__ROW_PANEL - 1) / ISO__ROW_PANEL * ISO__LANES); }

template <bool loss> static inline void softmax_launch(const iso__call *call, softmax_rows r) {
  cudaStream_t stream = iso__cuda_stream(call);
  if (r.n_rows == 0 || (r.n == 0 && !loss)) return;
  const unsigned rows = (unsigned)r.n_rows;
  if (r.n <= 1024) {
    void (*const kernels[])(softmax_rows) = {softmax_registers<loss, 4, true, 2>, softmax_registers<loss, 4, true, 8>,
                                             softmax_registers<loss, 2, true, 16>, softmax_registers<loss, 2, false, 2>,
                                             softmax_registers<loss, 2, false, 16>};
    const int which = row_kernel(r.n, rows_are_whole(4, r.n, r.x, r.y), rows_are_whole(2, r.n, r.x, r.y));
    kernels[which]<<<iso__cuda_blocks(r.n_rows * row_group(which), ROWS_THREADS), ROWS_THREADS, 0, stream>>>(r);
  } else if (r.n <= ISO__ROW_PANEL / 2) {
    softmax_lanes<loss, PANEL_ROUNDS / 2, 0><<<rows, ISO__LANES, 0, stream>>>(r);
  } else if (r.n <= ISO__ROW_PANEL) {
    softmax_lanes<loss, PANEL_ROUNDS, 0><<<rows, ISO__LANES, 0, stream>>>(r);
  } else if (r.n <= ROW_IN_LANES) {
    constexpr int n_bytes = LANES_KEPT * MOST_LANES * (int)sizeof(float);
    iso__cuda_shared(softmax_lanes<loss, LANES_HELD, LANES_KEPT>, n_bytes);
    softmax_lanes<loss, LANES_HELD, LANES_KEPT><<<rows, row_lanes(r.n), n_bytes, stream>>>(r);
  } else {
    softmax_long<loss><<<rows, MOST_LANES, 0, stream>>>(r);
  }
  iso__cuda_launched(call);
}
#endif
