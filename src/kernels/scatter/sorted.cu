/* sorted.cu: scattered sums and means of f32 on CUDA devices, each destination's contributions in ascending order and no
 * floats added by atomics. A stable radix sort of (destination, source) brings them together (radix.cuh); sums of single
 * elements take the values themselves along, and where destinations are not too many nor too unlike, one pass of the
 * sort is enough: what is left is done within a block. Of rows, and of what is sorted whole, runs of up to SHORT contributions are
 * summed by a thread each; of longer ones every chunk of 256 is a unit of work, whose sums wait in slots that a block
 * folds. Which unit takes which slot is left to chance; what a slot holds is not. */
#include "kernels/cuda/divide.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/ordered.cuh"
#include "kernels/scatter/radix.cuh"
#include "kernels/scatter/scatter.h"
#include "numeric/order.h"

namespace {
enum { SHORT = 64, THREADS = 256, WARPS = 4, FOLD_BLOCK = 1024, FOLD_SUMS = 4096, ROW_COLUMNS = 64, RUN_TILE = 2048 };

/* The sum's shape: n sources and `extent` destinations of `columns` columns; with `each` elements are sources of one
 * column. */
struct shape {
  int64_t n, extent, columns;
};
/* A destination of more than SHORT contributions: from number `begin` of the sorted on, in units from `unit` on. */
struct long_run {
  uint32_t to, begin, count, unit;
};
struct scatter {
  const float *x, *base, *scale;
  const int64_t *index, *source;
  float *y, *slots;
  const uint2 *sorted;     /* destination; its contribution's number, or its value if they are `carried` */
  uint32_t *begins, *ends; /* of rows: where each destination's contributions begin and end */
  uint2 *units;            /* chunks' first contributions and how many they are */
  long_run *longs;
  uint32_t *counts; /* how many units and long runs there are */
  shape s;
  int64_t outer, n, inner, extent, sources;
  uint32_t run;
  divider by_inner, by_n;
  bool each, is_mean, included, carried;
};

/* The row that contribution k is (iso__scatter_source). */
__device__ __forceinline__ int64_t row_of(const scatter &a, uint32_t k) {
  return !a.sources ? k : a.run ? k / a.run : __ldg(a.source + k);
}

/* Pairs to be sorted, by source. */
struct contributions {
  scatter a;
  __device__ __forceinline__ uint32_t key(int64_t j) const {
    const uint32_t to = (uint32_t)__ldg(a.index + j);
    if (!a.each || (a.outer == 1 && a.inner == 1)) return to;
    uint32_t outer = (uint32_t)j;
    const uint32_t column = take_digit(a.by_inner, &outer);
    return (quotient(a.by_n, outer) * (uint32_t)a.extent + to) * (uint32_t)a.inner + column;
  }
  __device__ __forceinline__ uint2 pair(int64_t j) const {
    if (!a.carried) return make_uint2(key(j), (uint32_t)j);
    return make_uint2(key(j), __float_as_uint(__ldg(a.x + row_of(a, (uint32_t)j))));
  }
};

/* Leaves a long destination to the kernels that follow: its chunks are units side by side. By one thread, or by all
 * 32 of a warp. */
template <int n_lanes> __device__ __forceinline__ void leave(const scatter &a, uint32_t d, uint32_t begin, uint32_t count) {
  const uint32_t n = (count + ISO__CHUNK - 1) / ISO__CHUNK, lane = threadIdx.x % n_lanes;
  uint32_t first = 0;
  if (lane == 0) {
    first = atomicAdd(&a.counts[0], n);
    a.longs[atomicAdd(&a.counts[1], 1)] = {d, begin, count, first};
  }
  if constexpr (n_lanes > 1) first = __shfl_sync(0xffffffffu, first, 0);
  for (uint32_t j = lane; j < n; j += n_lanes)
    a.units[first + j] = make_uint2(begin + j * ISO__CHUNK, j + 1 < n ? (uint32_t)ISO__CHUNK : count - j * ISO__CHUNK);
}

/* Contribution number i of the sorted, in one column. */
__device__ __forceinline__ float contribution(const scatter &a, uint32_t i, int64_t column, float *scale) {
  const uint32_t k = __ldg(&a.sorted[i].y);
  *scale = 1;
  if (a.carried) return __uint_as_float(k);
  if (a.scale) *scale = __ldg(a.scale + k);
  if (a.s.columns == 1) return __ldg(a.x + row_of(a, k));
  if (a.outer == 1) return __ldg(a.x + row_of(a, k) * a.inner + column);
  const int64_t outer = column / a.inner, row = outer * (a.sources ? a.sources : a.n) + row_of(a, k);
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

/* ---- single elements: buckets of neighbouring destinations ---- */

/* A bucket's destinations and most contributions; threads and rounds of a block that sums one. */
enum { BUCKET = 1 << RADIX_BITS, BUCKET_MOST = 6144, BUCKET_THREADS = 512, BUCKET_WARPS = BUCKET_THREADS / 32 };
enum { BUCKET_ROUNDS = BUCKET_MOST / BUCKET_THREADS, BUCKET_OWN = BUCKET / BUCKET_THREADS };

/* Contributions lie bucket by bucket (keys >> shift), in each by source: a block brings a bucket's into the order of
 * destinations in shared memory, and a thread sums a destination's. Where one bucket is too large, all blocks see that
 * and leave everything to the whole sort: the gate opens. */
__global__ void __launch_bounds__(BUCKET_THREADS, 2)
    bucket_sums(const __grid_constant__ scatter a, const uint32_t *totals, int shift, uint32_t *gate) {
  __shared__ union {
    uint16_t of_warp[BUCKET_WARPS][BUCKET];
    float values[BUCKET_MOST];
  } tile;
  __shared__ uint32_t warps[BUCKET_WARPS], begins[BUCKET + 1], place_of_bucket;
  const int t = (int)threadIdx.x, warp = t / 32, lane = t % 32;
  const uint2 total = ((const uint2 *)totals)[t]; /* of two buckets */
  if (__syncthreads_or(total.x > BUCKET_MOST || total.y > BUCKET_MOST)) {
    if (blockIdx.x == 0 && t == 0) *gate = 1;
    return;
  }
  const uint32_t before = radix_scan<BUCKET_WARPS>(total.x + total.y, warps);
  if (t == (int)blockIdx.x / 2) place_of_bucket = before + (blockIdx.x % 2 ? total.x : 0);
  for (int i = t; i < BUCKET_WARPS * BUCKET / 2; i += BUCKET_THREADS) ((uint32_t *)tile.of_warp)[i] = 0;
  __syncthreads();
  const int n = (int)totals[blockIdx.x], n_rounds = (n + BUCKET_THREADS - 1) / BUCKET_THREADS, begin = warp * n_rounds * 32 + lane;
  const uint2 *pairs = a.sorted + place_of_bucket;
  uint2 pair[BUCKET_ROUNDS];
  uint32_t places[BUCKET_ROUNDS / 2] = {}; /* two a word */
#pragma unroll
  for (int r = 0; r < BUCKET_ROUNDS; r++)
    if (r < n_rounds) pair[r] = begin + r * 32 < n ? __ldg(pairs + begin + r * 32) : make_uint2(0, 0);
  const uint32_t mask = (1u << shift) - 1;
#pragma unroll
  for (int r = 0; r < BUCKET_ROUNDS; r++)
    if (r < n_rounds) places[r / 2] |= radix_rank(tile.of_warp[warp], (int)(pair[r].x & mask), begin + r * 32 < n) << r % 2 * 16;
  __syncthreads();
  /* A thread two destinations, in one word: where their contributions begin in the tile. */
  uint32_t sum = 0;
#pragma unroll
  for (int w = 0; w < BUCKET_WARPS; w++) sum += ((const uint32_t *)tile.of_warp[w])[t];
  const uint32_t local = radix_scan<BUCKET_WARPS>((sum & 0xffff) + (sum >> 16), warps);
  begins[2 * t] = local, begins[2 * t + 1] = local + (sum & 0xffff);
  if (t == BUCKET_THREADS - 1) begins[BUCKET] = (uint32_t)n;
  uint32_t next = local | (local + (sum & 0xffff)) << 16;
#pragma unroll
  for (int w = 0; w < BUCKET_WARPS; w++) {
    uint32_t *word = (uint32_t *)tile.of_warp[w] + t;
    const uint32_t count = *word;
    *word = next, next += count;
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < BUCKET_ROUNDS; r++)
    if (r < n_rounds) places[r / 2] += (uint32_t)tile.of_warp[warp][pair[r].x & mask] << r % 2 * 16;
  __syncthreads();
#pragma unroll
  for (int r = 0; r < BUCKET_ROUNDS; r++)
    if (r < n_rounds && begin + r * 32 < n) tile.values[places[r / 2] >> r % 2 * 16 & 0xffff] = __uint_as_float(pair[r].y);
  __syncthreads();
  for (uint32_t i = t; i <= mask; i += BUCKET_THREADS) {
    const int64_t d = ((int64_t)blockIdx.x << shift) + i;
    if (d >= a.s.extent) break;
    sums<1> s = {};
    const uint32_t end = begins[i + 1];
    for (uint32_t j = begins[i]; j < end; j++) {
      s.acc[0] = s.acc[0] + tile.values[j];
      sums_next(s);
    }
    finish(a, (uint32_t)d, 0, sums_end(s, 0), end - begins[i]);
  }
}

/* ---- single elements, sorted as a whole ---- */

/* What destinations hold that get nothing, at all of them: where y is the base itself, it is as good a base. */
__global__ void __launch_bounds__(THREADS) empty_sums(const __grid_constant__ scatter a, const uint32_t *gate) {
  if (radix_is_shut(gate)) return;
  const int64_t d = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (d < a.s.extent) a.y[d] = finished(a, a.base ? a.base[d] : 0, 0, 0);
}

/* The end of the run of key d that holds `begin`: doubling, then halving. */
__device__ __noinline__ uint32_t end_of_run(const uint2 *sorted, uint32_t begin, uint32_t n, uint32_t d) {
  uint32_t inside = begin, step = SHORT;
  while (inside + step < n && sorted[inside + step].x == d) inside += step, step *= 2;
  uint32_t outside = inside + step < n ? inside + step : n;
  while (outside - inside > 1) {
    const uint32_t middle = inside + (outside - inside) / 2;
    if (sorted[middle].x == d) inside = middle;
    else outside = middle;
  }
  return outside;
}
/* A thread a contribution: the first of a destination's walks all of them; a warp leaves what is long. */
__global__ void __launch_bounds__(THREADS) run_sums(const __grid_constant__ scatter a, const uint32_t *gate) {
  if (radix_is_shut(gate)) return;
  __shared__ uint2 pairs[RUN_TILE];
  __shared__ uint32_t longs[RUN_TILE / SHORT + 1], n_longs;
  if (threadIdx.x == 0) n_longs = 0;
  const uint32_t begin = blockIdx.x * (uint32_t)RUN_TILE, n = (uint32_t)a.s.n, here = n - begin < RUN_TILE ? n - begin : RUN_TILE;
#pragma unroll
  for (int i = 0; i < RUN_TILE / THREADS; i++)
    if (i * THREADS + threadIdx.x < here) pairs[i * THREADS + threadIdx.x] = __ldg(a.sorted + begin + i * THREADS + threadIdx.x);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < here; i += THREADS) {
    const uint32_t d = pairs[i].x;
    if (i ? pairs[i - 1].x == d : begin && __ldg(&a.sorted[begin - 1].x) == d) continue;
    float acc = 0;
    uint32_t count = 0;
    for (; count <= SHORT; count++) {
      const uint32_t at = i + count;
      if (begin + at >= n) break;
      const uint2 p = at < here ? pairs[at] : __ldg(a.sorted + begin + at);
      if (p.x != d) break;
      float scale = 1, v = __uint_as_float(p.y);
      if (!a.carried) v = contribution(a, begin + at, 0, &scale);
      acc = added(a, acc, v, scale);
    }
    if (count > SHORT) longs[atomicAdd(&n_longs, 1)] = i;
    else finish(a, d, 0, acc + 0.0f, count); /* a product that vanishes below zero leaves −0; a fold does not */
  }
  __syncthreads();
  for (uint32_t l = threadIdx.x / 32; l < n_longs; l += THREADS / 32) {
    const uint32_t first = begin + longs[l], d = pairs[longs[l]].x;
    leave<32>(a, d, first, end_of_run(a.sorted, first, n, d) - first);
  }
}

/* ---- rows ---- */

/* Where each destination's begin and end; those that get nothing keep their zeros. */
__global__ void __launch_bounds__(THREADS) find_runs(const __grid_constant__ scatter a) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= a.s.n) return;
  const uint32_t d = a.sorted[i].x;
  if (i == 0 || a.sorted[i - 1].x != d) a.begins[d] = (uint32_t)i;
  if (i + 1 == a.s.n || a.sorted[i + 1].x != d) a.ends[d] = (uint32_t)i + 1;
}

/* A thread a destination and column. */
__global__ void __launch_bounds__(THREADS) short_sums(const __grid_constant__ scatter a) {
  const int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (t >= a.s.extent * a.s.columns) return;
  const uint32_t d = (uint32_t)(t / a.s.columns), begin = a.begins[d], end = a.ends[d];
  const int64_t column = t - d * a.s.columns;
  if (end - begin > SHORT) {
    if (column == 0) leave<1>(a, d, begin, end - begin);
    return;
  }
  float acc = 0;
#pragma unroll 4
  for (uint32_t i = begin; i < end; i++) {
    float scale;
    const float v = contribution(a, i, column, &scale);
    acc = added(a, acc, v, scale);
  }
  finish(a, d, column, acc + 0.0f, end - begin);
}
/* Of long rows a block a destination, a thread four columns: one outer index, rows and pointers in fours. */
__global__ void __launch_bounds__(THREADS) short_rows(const __grid_constant__ scatter a) {
  const uint32_t d = blockIdx.x, begin = a.begins[d], end = a.ends[d], count = end - begin;
  if (count > SHORT) {
    if (threadIdx.x < 32) leave<32>(a, d, begin, count);
    return;
  }
  const int64_t groups = a.inner / 4, row = (int64_t)d * groups;
  for (int64_t g = threadIdx.x; g < groups; g += blockDim.x) {
    float4 acc = make_float4(0, 0, 0, 0), base = make_float4(0, 0, 0, 0);
    if (a.base) base = __ldg((const float4 *)a.base + row + g);
#pragma unroll 2
    for (uint32_t i = begin; i < end; i++) {
      const uint32_t k = __ldg(&a.sorted[i].y);
      const float4 v = __ldg((const float4 *)a.x + row_of(a, k) * groups + g);
      const float scale = a.scale ? __ldg(a.scale + k) : 1;
      acc.x = added(a, acc.x, v.x, scale), acc.y = added(a, acc.y, v.y, scale);
      acc.z = added(a, acc.z, v.z, scale), acc.w = added(a, acc.w, v.w, scale);
    }
    ((float4 *)a.y)[row + g] = make_float4(finished(a, base.x, acc.x + 0.0f, count), finished(a, base.y, acc.y + 0.0f, count),
                                           finished(a, base.z, acc.z + 0.0f, count), finished(a, base.w, acc.w + 0.0f, count));
  }
}

/* ---- long runs ---- */

/* A warp a chunk and 32 columns, a lane a column; of few columns one after the other, the chunk in shared memory. */
__global__ void __launch_bounds__(WARPS * 32) unit_sums(const __grid_constant__ scatter a) {
  __shared__ float values[WARPS][ISO__CHUNK], scales[WARPS][ISO__CHUNK];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t across = a.s.columns < 8 ? a.s.columns : (a.s.columns + 31) / 32, n_units = a.counts[0] * across;
  for (int64_t u = (int64_t)blockIdx.x * WARPS + warp; u < n_units; u += (int64_t)gridDim.x * WARPS) {
    const uint32_t unit = (uint32_t)(u / across), begin = a.units[unit].x, n = a.units[unit].y;
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
    const uint32_t d = a.longs[number].to, unit = a.longs[number].unit, count = a.longs[number].count;
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
  size_t pairs[2], radix, begins, ends, units, longs, counts, slots, end;
};
pieces pieces_of(const shape &s) {
  pieces p;
  size_t at = 0;
  const auto take = [&at](int64_t n, size_t n_bytes) {
    const size_t begin = at;
    at = (begin + (size_t)n * n_bytes + 63) / 64 * 64;
    return begin;
  };
  for (int i = 0; i < 2; i++) p.pairs[i] = take(s.n, sizeof(uint2));
  p.radix = take(radix_items(s.n), 4);
  p.begins = take(s.columns > 1 ? s.extent : 0, 4), p.ends = take(s.columns > 1 ? s.extent : 0, 4);
  p.counts = take(3, 4), p.units = take(most_units(s), sizeof(uint2)), p.longs = take(most_longs(s), sizeof(long_run));
  p.slots = take(most_units(s) * s.columns, 4), p.end = at;
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

/* By how many bits keys are shifted to number buckets, if single elements may be summed by buckets; else 0. */
static int bucket_shift(const scatter &a) {
  int shift = 0;
  while ((a.s.extent - 1) >> shift >= RADIX_DIGITS) shift++;
  const int64_t n_buckets = ((a.s.extent - 1) >> shift) + 1;
  return a.carried && shift <= RADIX_BITS && a.s.n <= n_buckets * (BUCKET_MOST * 3 / 4) ? shift : 0;
}
/* Sums of single elements: by buckets, and behind a gate for the case that one is too large; else as a whole. Runs of
 * up to SHORT contributions; longer ones are left. */
static void launch_elements(contributions &from, uint2 *const pairs[2], uint32_t *radix, cudaStream_t stream) {
  scatter &a = from.a;
  const int shift = a.s.n ? bucket_shift(a) : 0;
  uint32_t *gate = NULL;
  if (shift) {
    gate = &a.counts[2];
    radix_pass_of(from, pairs[0], radix, a.s.n, shift, NULL, stream);
    a.sorted = pairs[0];
    bucket_sums<<<(unsigned)(((a.s.extent - 1) >> shift) + 1), BUCKET_THREADS, 0, stream>>>(
        a, radix + (int64_t)RADIX_DIGITS * radix_tiles(a.s.n), shift, gate);
  }
  a.sorted = pairs[radix_sort(from, pairs, radix, a.s.n, a.s.extent, gate, stream)];
  if (a.base != a.y || a.included) empty_sums<<<iso__cuda_blocks(a.s.extent, THREADS), THREADS, 0, stream>>>(a, gate);
  if (a.s.n) run_sums<<<iso__cuda_blocks(a.s.n, RUN_TILE), THREADS, 0, stream>>>(a, gate);
}
static void launch_rows(contributions &from, uint2 *const pairs[2], uint32_t *radix, cudaStream_t stream) {
  scatter &a = from.a;
  a.sorted = pairs[radix_sort(from, pairs, radix, a.s.n, a.s.extent, NULL, stream)];
  if (a.s.n) find_runs<<<iso__cuda_blocks(a.s.n, THREADS), THREADS, 0, stream>>>(a);
  const bool fours = ((a.inner & 3) | (((uintptr_t)a.x | (uintptr_t)a.y | (uintptr_t)a.base) & 15)) == 0;
  if (fours && a.outer == 1 && a.inner >= ROW_COLUMNS) {
    const unsigned threads = (unsigned)(a.inner / 4 < THREADS ? (a.inner / 4 + 31) / 32 * 32 : (int)THREADS);
    short_rows<<<(unsigned)a.s.extent, threads, 0, stream>>>(a);
  } else {
    short_sums<<<iso__cuda_blocks(a.s.extent * a.s.columns, THREADS), THREADS, 0, stream>>>(a);
  }
}

extern "C" void iso__scatter_cuda_run(const iso__call *call) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)call->problem;
  const iso_scatter_args *args = (const iso_scatter_args *)call->args;
  cudaStream_t stream = iso__cuda_stream(call);
  contributions from = {};
  scatter &a = from.a;
  a.s = shape_of(p);
  if (a.s.extent * a.s.columns == 0) return;
  const pieces w = pieces_of(a.s);
  char *base = (char *)call->workspace;
  a.x = (const float *)args->x, a.base = p->base ? (const float *)args->base : NULL;
  a.scale = p->has_scale ? (const float *)args->scale : NULL;
  a.index = args->index, a.source = args->source, a.run = (uint32_t)p->run, a.y = (float *)args->y;
  a.begins = (uint32_t *)(base + w.begins), a.ends = (uint32_t *)(base + w.ends), a.counts = (uint32_t *)(base + w.counts);
  a.units = (uint2 *)(base + w.units), a.longs = (long_run *)(base + w.longs), a.slots = (float *)(base + w.slots);
  a.outer = p->outer, a.n = p->n, a.inner = p->inner, a.extent = p->extent, a.sources = p->sources;
  a.by_inner = divide_by(p->inner), a.by_n = divide_by(p->n);
  a.each = p->each, a.is_mean = p->fn == ISO__SCATTER_MEAN, a.included = p->base == ISO__SCATTER_INCLUDED;
  a.carried = a.s.columns == 1 && !a.scale;
  uint2 *const pairs[2] = {(uint2 *)(base + w.pairs[0]), (uint2 *)(base + w.pairs[1])};
  cudaMemsetAsync(base + w.begins, 0, w.units - w.begins, stream); /* the counts, too */
  (a.s.columns == 1 ? launch_elements : launch_rows)(from, pairs, (uint32_t *)(base + w.radix), stream);
  if (a.s.n > SHORT) {
    const int n_blocks = 8 * iso__cuda_multiprocessors(call->ctx);
    unit_sums<<<n_blocks, WARPS * 32, 0, stream>>>(a);
    fold_units<<<n_blocks / 4, FOLD_BLOCK, 0, stream>>>(a, a.s.columns < 8 ? 1 : 32);
  }
  iso__cuda_launched(call);
}
