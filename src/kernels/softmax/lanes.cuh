/* lanes.cuh: long rows on CUDA devices, a thread a lane: the 64 lanes of a row panel are two warps, and a block has a
 * panel's threads for each of up to eight panels. A thread reads every 64th element, so any alignment will do; it holds
 * its elements in registers, and what does not fit there in shared memory. */
#ifndef ISO_KERNELS_SOFTMAX_LANES_CUH
#define ISO_KERNELS_SOFTMAX_LANES_CUH
#include "kernels/cuda/rows.cuh"

static constexpr int MOST_PANELS = 8, MOST_LANES = MOST_PANELS * ISO__LANES, ROW_IN_LANES = MOST_PANELS * ISO__ROW_PANEL;
/* A lane's elements of a panel; of rows of several panels those in registers and in shared memory. */
static constexpr int PANEL_ROUNDS = ISO__ROW_PANEL / ISO__LANES, LANES_HELD = 40, LANES_KEPT = PANEL_ROUNDS - LANES_HELD;

/* This thread's part of a row of n: elements begin, begin + 64 … below begin + left; `width`: elements of its panel. */
struct lane_part {
  int begin, left, width;
};
static __device__ __forceinline__ lane_part lane_part_of(int64_t n, int64_t first_panel) {
  const int64_t panel = (first_panel + (int)threadIdx.x / ISO__LANES) * ISO__ROW_PANEL;
  const int lane = (int)threadIdx.x % ISO__LANES;
  const int width = n <= panel ? 0 : n - panel < ISO__ROW_PANEL ? (int)(n - panel) : (int)ISO__ROW_PANEL;
  return {(int)threadIdx.x / ISO__LANES * ISO__ROW_PANEL + lane, width - lane, width};
}
/* Calls take(j, whether this thread's element is there) for rounds j = from … to − 1 that the panel has, four at a time:
 * only the last four may lack some. */
template <int from, int to, class Take> static __device__ __forceinline__ void each_round(const lane_part &part, Take take) {
#pragma unroll
  for (int j = from; j < to; j += 4) {
    if ((j + 4) * ISO__LANES <= part.width) {
#pragma unroll
      for (int k = 0; k < 4; k++) take(j + k, true);
    } else if (j * ISO__LANES < part.width) {
#pragma unroll
      for (int k = 0; k < 4; k++) take(j + k, (j + k) * ISO__LANES < part.left);
    }
  }
}

/* Calls take.operator()<j>() for j = from, from + step … below to: rounds whose loads are under way together. */
template <int from, int to, int step, class Take> static __device__ __forceinline__ void each_batch(Take take) {
  if constexpr (from < to) {
    take.template operator()<from>();
    each_batch<from + step, to, step>(take);
  }
}

/* The block's largest value, a NaN if there is one; `warps` is shared. */
static __device__ __forceinline__ float block_max(float m, float *warps) {
  m = group_max<32>(m);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = m;
  __syncthreads();
  m = warps[0];
  for (int w = 1; w < (int)blockDim.x / 32; w++) m = max_or_nan(m, warps[w]);
  __syncthreads();
  return m;
}
/* The panels' sums of lanes to `panels` (shared), each from its 64 threads. */
static __device__ __forceinline__ void panel_sums(float lane, float *warps, float *panels) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) lane = lane + __shfl_xor_sync(0xffffffffu, lane, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = lane;
  __syncthreads();
  if (threadIdx.x < blockDim.x / ISO__LANES) panels[threadIdx.x] = warps[2 * threadIdx.x] + warps[2 * threadIdx.x + 1];
  __syncthreads();
}
/* The tree over up to eight panels; an absent neighbour changes nothing. */
static __device__ __forceinline__ float tree_of_eight(const float *panels, int n) {
  float v[MOST_PANELS];
#pragma unroll
  for (int k = 0; k < MOST_PANELS; k++) v[k] = k < n ? panels[k] : 0;
#pragma unroll
  for (int step = 1; step < MOST_PANELS; step *= 2)
#pragma unroll
    for (int k = 0; k < MOST_PANELS; k += 2 * step)
      if (k + step < n) v[k] = v[k] + v[k + step];
  return v[0] + 0.0f;
}
/* lanes over rows of any length by a block of MOST_LANES threads: the sum of term(element); every thread gets it. */
template <class Term> static __device__ float lanes_of_long(int64_t n, float *warps, float *panels, Term term) {
  const int64_t n_panels = (n + ISO__ROW_PANEL - 1) / ISO__ROW_PANEL;
  panel_tree tree;
  tree.n = 0;
  for (int64_t first = 0; first < n_panels; first += MOST_PANELS) {
    const lane_part part = lane_part_of(n, first);
    float lane = 0;
#pragma unroll 8
    for (int j = 0; j < (part.left + ISO__LANES - 1) / ISO__LANES; j++)
      lane = term(lane, first * ISO__ROW_PANEL + part.begin + j * ISO__LANES);
    panel_sums(lane, warps, panels);
    if (threadIdx.x == 0)
      for (int k = 0; k < MOST_PANELS && first + k < n_panels; k++) panel_push(tree, panels[k]);
    __syncthreads();
  }
  if (threadIdx.x == 0) panels[0] = panel_end(tree) + 0.0f;
  __syncthreads();
  return panels[0];
}
#endif
