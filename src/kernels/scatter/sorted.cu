/* sorted.cu: scattered sums and means of f32 on CUDA devices, each destination's contributions in ascending order and no
 * floats added by atomics. A stable radix sort of (destination, source) brings them together (radix.cuh); where each
 * destination's begin is found by bisection. Short ones, up to SHORT, are summed by a thread each; of longer ones every
 * chunk of 256 is a unit of work, whose sums wait in slots that a block folds. Which unit takes which slot is left to
 * chance; what a slot holds is not. */
#include "kernels/cuda/launch.cuh"
#include "kernels/scatter/radix.cuh"
#include "kernels/scatter/scatter.h"
#include "numeric/order.h"

namespace {
enum { SHORT = 64, THREADS = 256, WARPS = 4, FOLD_BLOCK = 1024, FOLD_SUMS = 4096, ROW_COLUMNS = 64 };

/* The sum's shape: n sources and `extent` destinations of `columns` columns; with `each` elements are sources of one
 * column. */
struct shape {
  int64_t n, extent, columns;
};
struct scatter {
  const float *x, *base, *scale;
  const int64_t *index, *source;
  float *y, *slots;
  const uint32_t *keys, *values, *begins, *ends; /* sorted; where each destination's begin and end */
  uint32_t *units, *longs, *firsts, *counts; /* chunks' firsts; long destinations and their first units; how many of both */
  shape s;
  int64_t outer, n, inner, extent, sources;
  bool each, is_mean, included;
};

__global__ void __launch_bounds__(THREADS) make_keys(const __grid_constant__ scatter a, uint32_t *keys, uint32_t *values) {
  const int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (j >= a.s.n) return;
  const int64_t to = a.index[j];
  keys[j] = (uint32_t)(a.each ? (j / a.inner / a.n * a.extent + to) * a.inner + j % a.inner : to);
  values[j] = (uint32_t)j;
}

/* Where each destination's begin and end; those that get nothing keep their zeros. */
__global__ void __launch_bounds__(THREADS) find_runs(const __grid_constant__ scatter a, uint32_t *begins, uint32_t *ends) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= a.s.n) return;
  const uint32_t d = a.keys[i];
  if (i == 0 || a.keys[i - 1] != d) begins[d] = (uint32_t)i;
  if (i + 1 == a.s.n || a.keys[i + 1] != d) ends[d] = (uint32_t)i + 1;
}

/* Leaves a long destination to the kernels that follow: its chunks are units side by side. */
__device__ __forceinline__ void leave(const scatter &a, uint32_t d, uint32_t begin, uint32_t count) {
  const uint32_t n = (count + ISO__CHUNK - 1) / ISO__CHUNK, first = atomicAdd(&a.counts[0], n), number = atomicAdd(&a.counts[1], 1);
  a.longs[number] = d, a.firsts[number] = first;
  for (uint32_t j = 0; j < n; j++) a.units[first + j] = begin + j * ISO__CHUNK;
}

/* Contribution number i of the sorted, in one column. */
__device__ __forceinline__ float contribution(const scatter &a, uint32_t i, int64_t column, float *scale) {
  const int64_t k = a.values[i];
  *scale = a.scale ? __ldg(a.scale + k) : 1;
  if (a.s.columns == 1) return __ldg(a.x + (a.sources ? a.source[k] : k));
  if (a.outer == 1) return __ldg(a.x + (a.sources ? a.source[k] : k) * a.inner + column);
  const int64_t outer = column / a.inner, row = a.sources ? outer * a.sources + a.source[k] : outer * a.n + k;
  return __ldg(a.x + row * a.inner + column % a.inner);
}
__device__ __forceinline__ float added(const scatter &a, float acc, float v, float scale) {
  return a.scale ? fmaf(scale, v, acc) : acc + v;
}
__device__ __forceinline__ float finished(const scatter &a, float base, float sum, uint32_t count) {
  if (a.included) return a.is_mean ? (base + sum) / (float)(count + 1) : base + sum;
  return count == 0 ? base : a.is_mean ? sum / (float)count : sum;
}
__device__ __forceinline__ void finish(const scatter &a, uint32_t d, int64_t column, float sum, uint32_t count) {
  const int64_t at = a.s.columns == 1  ? d
                     : a.outer == 1 ? d * a.inner + column
                                    : (column / a.inner * a.extent + d) * a.inner + column % a.inner;
  a.y[at] = finished(a, a.base ? a.base[at] : 0, sum, count);
}

/* A thread a destination and column. */
__global__ void __launch_bounds__(THREADS) short_sums(const __grid_constant__ scatter a) {
  const int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (t >= a.s.extent * a.s.columns) return;
  const uint32_t d = (uint32_t)(a.s.columns == 1 ? t : t / a.s.columns), begin = a.begins[d], end = a.ends[d];
  const int64_t column = t - d * a.s.columns;
  if (end - begin > SHORT) {
    if (column == 0) leave(a, d, begin, end - begin);
    return;
  }
  float acc = 0;
#pragma unroll 4
  for (uint32_t i = begin; i < end; i++) {
    float scale;
    const float v = contribution(a, i, column, &scale);
    acc = added(a, acc, v, scale);
  }
  finish(a, d, column, acc + 0.0f, end - begin); /* a product that vanishes below zero leaves −0; a fold does not */
}
/* Of long rows a block a destination, a thread four columns: one outer index, rows and pointers in fours. */
__global__ void __launch_bounds__(THREADS) short_rows(const __grid_constant__ scatter a) {
  const uint32_t d = blockIdx.x, begin = a.begins[d], end = a.ends[d], count = end - begin;
  if (count > SHORT) {
    if (threadIdx.x == 0) leave(a, d, begin, count);
    return;
  }
  const int64_t groups = a.inner / 4, row = (int64_t)d * groups;
  for (int64_t g = threadIdx.x; g < groups; g += blockDim.x) {
    float4 acc = make_float4(0, 0, 0, 0), base = make_float4(0, 0, 0, 0);
    if (a.base) base = __ldg((const float4 *)a.base + row + g);
#pragma unroll 2
    for (uint32_t i = begin; i < end; i++) {
      const int64_t k = a.values[i], from = a.sources ? a.source[k] : k;
      const float4 v = __ldg((const float4 *)a.x + from * groups + g);
      const float scale = a.scale ? __ldg(a.scale + k) : 1;
      acc.x = added(a, acc.x, v.x, scale), acc.y = added(a, acc.y, v.y, scale);
      acc.z = added(a, acc.z, v.z, scale), acc.w = added(a, acc.w, v.w, scale);
    }
    ((float4 *)a.y)[row + g] = make_float4(finished(a, base.x, acc.x + 0.0f, count), finished(a, base.y, acc.y + 0.0f, count),
                                           finished(a, base.z, acc.z + 0.0f, count), finished(a, base.w, acc.w + 0.0f, count));
  }
}

/* A warp a chunk and 32 columns, a lane a column; of few columns one after the other, the chunk in shared memory. */
__global__ void __launch_bounds__(WARPS * 32) unit_sums(const __grid_constant__ scatter a) {
  __shared__ float values[WARPS][ISO__CHUNK], scales[WARPS][ISO__CHUNK];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t across = a.s.columns < 8 ? a.s.columns : (a.s.columns + 31) / 32, n_units = a.counts[0] * across;
  for (int64_t u = (int64_t)blockIdx.x * WARPS + warp; u < n_units; u += (int64_t)gridDim.x * WARPS) {
    const uint32_t unit = (uint32_t)(u / across), begin = a.units[unit], last = a.ends[a.keys[begin]];
    const uint32_t n = last - begin < ISO__CHUNK ? last - begin : ISO__CHUNK;
    int64_t column = u % across;
    float acc = 0;
    if (a.s.columns < 8) {
      for (uint32_t i = lane; i < n; i += 32) values[warp][i] = contribution(a, begin + i, column, &scales[warp][i]);
      __syncwarp();
      if (lane == 0)
#pragma unroll 16
        for (uint32_t i = 0; i < n; i++) acc = added(a, acc, values[warp][i], scales[warp][i]);
      __syncwarp();
      if (lane) continue;
    } else {
      column = column * 32 + lane;
      if (column >= a.s.columns) continue;
#pragma unroll 8
      for (uint32_t i = 0; i < n; i++) {
        float scale;
        const float v = contribution(a, begin + i, column, &scale);
        acc = added(a, acc, v, scale);
      }
    }
    a.slots[unit * a.s.columns + column] = acc;
  }
}

/* A block a long destination: panels side by side, then one after the other; `wide` columns at once. */
__global__ void __launch_bounds__(FOLD_BLOCK) fold_units(const __grid_constant__ scatter a, int wide) {
  __shared__ float sums[FOLD_SUMS];
  constexpr int chunks = ISO__PANEL / ISO__CHUNK;
  const int x = threadIdx.x % wide, y = threadIdx.x / wide, high = FOLD_BLOCK / wide, batch = FOLD_SUMS / wide;
  for (uint32_t number = blockIdx.x; number < a.counts[1]; number += gridDim.x) {
    const uint32_t d = a.longs[number], unit = a.firsts[number], count = a.ends[d] - a.begins[d];
    const uint32_t n_chunks = (count + ISO__CHUNK - 1) / ISO__CHUNK, n_panels = (n_chunks + chunks - 1) / chunks;
    for (int64_t first = 0; first < a.s.columns; first += wide) {
      const int64_t column = first + x;
      float total = 0;
      for (uint32_t p = 0; p < n_panels; p += batch) {
        const int here = n_panels - p < (uint32_t)batch ? (int)(n_panels - p) : batch;
        for (int j = y; j < here; j += high) {
          float panel = 0;
          for (uint32_t c = (p + j) * chunks; c < n_chunks && c < (p + j + 1) * chunks; c++)
            panel = panel + (column < a.s.columns ? a.slots[(int64_t)(unit + c) * a.s.columns + column] : 0);
          sums[j * wide + x] = panel;
        }
        __syncthreads();
        if (y == 0)
#pragma unroll 8
          for (int j = 0; j < here; j++) total = total + sums[j * wide + x];
        __syncthreads();
      }
      if (y == 0 && column < a.s.columns) finish(a, d, column, total, count);
    }
  }
}

shape shape_of(const iso_scatter_problem *p) {
  const int64_t lines = p->outer * p->inner;
  return p->each ? shape{lines * p->n, lines * p->extent, 1} : shape{p->n, p->extent, lines};
}
int64_t most_longs(const shape &s) { return s.n / SHORT + 1; }
int64_t most_units(const shape &s) { return s.n / ISO__CHUNK + most_longs(s); }

/* Pieces of the workspace, by bytes from its start. */
struct pieces {
  size_t keys[2], values[2], sort, begins, ends, units, longs, firsts, counts, slots, end;
};
pieces pieces_of(const shape &s) {
  pieces p;
  size_t at = 0;
  const auto take = [&at](int64_t n) {
    const size_t begin = at;
    at = (begin + (size_t)n * 4 + 63) / 64 * 64;
    return begin;
  };
  for (int i = 0; i < 2; i++) p.keys[i] = take(s.n), p.values[i] = take(s.n);
  p.sort = take(radix_items(s.n)), p.begins = take(s.extent), p.ends = take(s.extent);
  p.units = take(most_units(s)), p.longs = take(most_longs(s)), p.firsts = take(most_longs(s)), p.counts = take(2);
  p.slots = take(most_units(s) * s.columns), p.end = at;
  return p;
}
} // namespace

extern "C" const char *iso__scatter_cuda_applicable(const iso__problem *problem) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  if (p->fn != ISO__SCATTER_ADD && p->fn != ISO__SCATTER_MEAN) return "computes sums and means";
  const double lines = p->each ? (double)p->outer * (double)p->inner : 1;
  const bool fits = lines * (double)p->n < INT32_MAX && lines * (double)p->extent < INT32_MAX &&
                    (double)p->outer * (double)p->inner * (double)p->extent < (double)INT32_MAX * (int)THREADS;
  return fits ? NULL : "numbers sources and destinations in 31 bits";
}
extern "C" size_t iso__scatter_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  (void)n_multiprocessors;
  return pieces_of(shape_of((const iso_scatter_problem *)problem)).end;
}

extern "C" void iso__scatter_cuda_run(const iso__call *call) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)call->problem;
  const iso_scatter_args *args = (const iso_scatter_args *)call->args;
  cudaStream_t stream = iso__cuda_stream(call);
  scatter a = {};
  a.s = shape_of(p);
  if (a.s.extent * a.s.columns == 0) return;
  const pieces w = pieces_of(a.s);
  char *base = (char *)call->workspace;
  const auto words = [base](size_t at) { return (uint32_t *)(base + at); };
  a.x = (const float *)args->x, a.base = p->base ? (const float *)args->base : NULL;
  a.scale = p->has_scale ? (const float *)args->scale : NULL;
  a.index = args->index, a.source = p->sources ? args->source : NULL, a.y = (float *)args->y;
  a.begins = words(w.begins), a.ends = words(w.ends), a.firsts = words(w.firsts), a.units = words(w.units), a.longs = words(w.longs);
  a.counts = words(w.counts), a.slots = (float *)(base + w.slots);
  a.outer = p->outer, a.n = p->n, a.inner = p->inner, a.extent = p->extent, a.sources = p->sources;
  a.each = p->each, a.is_mean = p->fn == ISO__SCATTER_MEAN, a.included = p->base == ISO__SCATTER_INCLUDED;
  radix_pairs pairs = {{words(w.keys[0]), words(w.keys[1])}, {words(w.values[0]), words(w.values[1])}, words(w.sort)};
  const unsigned source_blocks = iso__cuda_blocks(a.s.n, THREADS);
  if (a.s.n) make_keys<<<source_blocks, THREADS, 0, stream>>>(a, pairs.keys[0], pairs.values[0]);
  const int sorted = radix_sort(pairs, a.s.n, a.s.extent, stream);
  a.keys = pairs.keys[sorted], a.values = pairs.values[sorted];
  cudaMemsetAsync(base + w.begins, 0, w.units - w.begins, stream);
  if (a.s.n) find_runs<<<source_blocks, THREADS, 0, stream>>>(a, words(w.begins), words(w.ends));
  cudaMemsetAsync(a.counts, 0, 2 * sizeof(uint32_t), stream);
  const bool fours = ((a.inner & 3) | (((uintptr_t)a.x | (uintptr_t)a.y | (uintptr_t)a.base) & 15)) == 0;
  if (fours && a.outer == 1 && !a.each && a.inner >= ROW_COLUMNS) {
    const unsigned threads = (unsigned)(a.inner / 4 < THREADS ? (a.inner / 4 + 31) / 32 * 32 : (int)THREADS);
    short_rows<<<(unsigned)a.extent, threads, 0, stream>>>(a);
  } else {
    short_sums<<<iso__cuda_blocks(a.s.extent * a.s.columns, THREADS), THREADS, 0, stream>>>(a);
  }
  if (a.s.n > SHORT) {
    const int n_blocks = 8 * iso__cuda_multiprocessors(call->ctx);
    unit_sums<<<n_blocks, WARPS * 32, 0, stream>>>(a);
    fold_units<<<n_blocks / 4, FOLD_BLOCK, 0, stream>>>(a, a.s.columns < 8 ? 1 : 32);
  }
  iso__cuda_launched(call);
}
