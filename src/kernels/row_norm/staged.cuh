/* staged.cuh: the input's gradient of layer and RMS norms whose rows are too long for the registers of many warps: a warp
 * a row, whose x and dy come to shared memory while the row before is computed, so that loads are always under way. */
#ifndef ISO_KERNELS_ROW_NORM_STAGED_CUH
#define ISO_KERNELS_ROW_NORM_STAGED_CUH
#include "kernels/row_norm/layer.cuh"

enum { STAGED_LONGEST = 2048, STAGED_LEAST_SHARED = 160 << 10 }; /* a multiprocessor's shared memory: what it pays on */
/* γ, and two stages of a row's x and dy for each warp. */
static inline int staged_bytes(int n, int n_warps) { return (n_warps * 2 * 2 + 1) * n * (int)sizeof(float); }

static __device__ __forceinline__ void fetch_row(const float *from, int n, float2 *to) {
#pragma unroll 4
  for (int i = (int)threadIdx.x % 32 * 4; i < n; i += 128) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = (unsigned)__cvta_generic_to_shared(to + i / 2);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from + i) : "memory");
#else
    *(float4 *)(to + i / 2) = __ldg((const float4 *)(from + i));
#endif
  }
}
/* A group of fetches ends; all groups but the last one are there, for the whole warp. */
static __device__ __forceinline__ void fetches_end() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
static __device__ __forceinline__ void wait_for_older_fetches() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
  __syncwarp();
}

/* h and g = dy·γ of this thread's pair i. */
static __device__ __forceinline__ void staged_pair(const layer &l, const float2 *x, const float2 *dy, const float2 *gammas, int i, float mean, float rstd, float2 *h, float2 *g) {
  *h = x[i], *g = dy[i];
  h->x = (l.rms ? h->x : h->x - mean) * rstd, h->y = (l.rms ? h->y : h->y - mean) * rstd;
  if (!l.gamma) return;
  const float2 gamma = gammas[i];
  g->x = g->x * gamma.x, g->y = g->y * gamma.y;
}

/* Rows that lie on fours (rows_are_whole). γ lies in shared memory, too: the cache is what is left of it. */
static __global__ void layer_backward_staged(const __grid_constant__ layer l) {
  extern __shared__ __align__(16) float2 staged_rows[];
  const int n_warps = (int)blockDim.x / 32, thread = (int)threadIdx.x % 32;
  float2 *const gammas = staged_rows, *const stages = staged_rows + l.n / 2 + (int)threadIdx.x / 32 * 2 * l.n;
  const int64_t step = (int64_t)gridDim.x * n_warps;
  int64_t row = (int64_t)blockIdx.x * n_warps + (int)threadIdx.x / 32;
  float next_mean = 0, next_rstd = 0;
  const auto start = [&](int64_t number, float2 *stage) {
    if (number < l.n_rows) {
      fetch_row(l.x + number * l.n, l.n, stage), fetch_row(l.dy + number * l.n, l.n, stage + l.n / 2);
      next_mean = l.rms ? 0 : __ldg(l.mean + number), next_rstd = __ldg(l.rstd + number);
    }
    fetches_end();
  };
  start(row, stages);
  if (l.gamma)
    for (int i = (int)threadIdx.x; 2 * i < l.n; i += (int)blockDim.x) gammas[i] = __ldg((const float2 *)l.gamma + i);
  __syncthreads();
  for (int stage = 0; row < l.n_rows; row += step, stage = 1 - stage) {
    const float2 *const x = stages + stage * l.n, *const dy = x + l.n / 2;
    const float mean = next_mean, rstd = next_rstd;
    start(row + step, stages + (1 - stage) * l.n);
    wait_for_older_fetches();
    float products[2] = {}, others[2] = {}, mean_g = 0;
#pragma unroll 4
    for (int i = thread; 2 * i < l.n; i += 32) {
      float2 h, g;
      staged_pair(l, x, dy, gammas, i, mean, rstd, &h, &g);
      products[0] = fmaf(g.x, h.x, products[0]), products[1] = fmaf(g.y, h.y, products[1]);
      others[0] = others[0] + g.x, others[1] = others[1] + g.y;
    }
    const float gh = (lanes_tree<2>(products) + 0.0f) / (float)l.n;
    if (!l.rms) mean_g = (lanes_tree<2>(others) + 0.0f) / (float)l.n;
    float2 *const out = (float2 *)(l.out + row * l.n);
#pragma unroll 4
    for (int i = thread; 2 * i < l.n; i += 32) {
      float2 h, g;
      staged_pair(l, x, dy, gammas, i, mean, rstd, &h, &g);
      h.x = rstd * fmaf(-h.x, gh, l.rms ? g.x : g.x - mean_g), h.y = rstd * fmaf(-h.y, gh, l.rms ? g.y : g.y - mean_g);
      __stcs(out + i, h);
    }
    __syncwarp(); /* the stage is free */
  }
}
#endif
