/* radix.cuh: a stable sort of pairs of 32-bit words by their keys, least digit of 8 bits first.
 *
 * A pass: every tile counts its digits; each digit's counts are summed up over the tiles; every tile places its pairs.
 * Within a tile pairs keep their order because warps take consecutive parts of it, 32 pairs at a time, and a lane's
 * rank among equal digits is the number of lower lanes that hold it. All in integers: nothing depends on scheduling. */
#ifndef ISO_KERNELS_SCATTER_RADIX_CUH
#define ISO_KERNELS_SCATTER_RADIX_CUH
#include <stdint.h>

enum { RADIX_THREADS = 256, RADIX_DIGITS = 256, RADIX_ROUNDS = 16, RADIX_WARPS = RADIX_THREADS / 32 };
enum { RADIX_TILE = RADIX_THREADS * RADIX_ROUNDS };

struct radix_pairs {
  uint32_t *keys[2], *values[2], *counts; /* (digit, tile), then the digits' totals */
};
static inline int64_t radix_tiles(int64_t n) { return (n + RADIX_TILE - 1) / RADIX_TILE; }
static inline int64_t radix_items(int64_t n) { return RADIX_DIGITS * (radix_tiles(n) + 1); }

/* This warp's part of the tile; the digits of its 16 rounds. Beyond n: no digit. */
static __device__ __forceinline__ int64_t radix_at(int round) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  return (int64_t)blockIdx.x * RADIX_TILE + (warp * RADIX_ROUNDS + round) * 32 + lane;
}
/* Lanes with this lane's digit. */
static __device__ __forceinline__ unsigned radix_peers(int digit) { return __match_any_sync(0xffffffffu, digit); }

/* counts[digit][tile], and per warp in shared memory if wanted. */
static __device__ __forceinline__ void radix_count(uint32_t (*of_warp)[RADIX_DIGITS], const uint32_t *keys, int64_t n, int shift) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int w = 0; w < RADIX_WARPS; w++) of_warp[w][threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 4
  for (int round = 0; round < RADIX_ROUNDS; round++) {
    const int64_t at = radix_at(round);
    const int digit = at < n ? (int)(keys[at] >> shift & (RADIX_DIGITS - 1)) : RADIX_DIGITS;
    const unsigned peers = radix_peers(digit);
    if (digit < RADIX_DIGITS && lane == __ffs((int)peers) - 1) of_warp[warp][digit] += (uint32_t)__popc(peers);
    __syncwarp();
  }
  __syncthreads();
}

static __global__ void __launch_bounds__(RADIX_THREADS) radix_count_tiles(const uint32_t *keys, uint32_t *counts, int64_t n, int shift) {
  __shared__ uint32_t of_warp[RADIX_WARPS][RADIX_DIGITS];
  radix_count(of_warp, keys, n, shift);
  uint32_t sum = 0;
  for (int w = 0; w < RADIX_WARPS; w++) sum += of_warp[w][threadIdx.x];
  counts[(int64_t)threadIdx.x * gridDim.x + blockIdx.x] = sum;
}

/* The sum of a block's earlier threads' values; *total gets all of them. `warps` is shared. */
static __device__ __forceinline__ uint32_t radix_scan(uint32_t v, uint32_t *warps, uint32_t *total) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint32_t sum = v;
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += below;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  uint32_t before = 0, all = 0;
  for (int w = 0; w < RADIX_WARPS; w++) before += w < warp ? warps[w] : 0, all += warps[w];
  __syncthreads();
  *total = all;
  return before + sum - v;
}
/* A block a digit: its counts become where each tile's first goes, from the digit's first on. */
static __global__ void __launch_bounds__(RADIX_THREADS) radix_scan_digits(uint32_t *counts, int64_t n_tiles) {
  __shared__ uint32_t warps[RADIX_WARPS];
  uint32_t *row = counts + blockIdx.x * n_tiles, carry = 0;
  for (int64_t begin = 0; begin < n_tiles; begin += RADIX_THREADS) {
    const int64_t at = begin + threadIdx.x;
    uint32_t total;
    const uint32_t before = radix_scan(at < n_tiles ? row[at] : 0, warps, &total);
    if (at < n_tiles) row[at] = carry + before;
    carry += total;
  }
  if (threadIdx.x == 0) counts[RADIX_DIGITS * n_tiles + blockIdx.x] = carry;
}

static __global__ void __launch_bounds__(RADIX_THREADS)
    radix_place(const uint32_t *keys, const uint32_t *values, uint32_t *to_keys, uint32_t *to_values, const uint32_t *counts, int64_t n,
                int shift) {
  __shared__ uint32_t next[RADIX_WARPS][RADIX_DIGITS], warps[RADIX_WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  radix_count(next, keys, n, shift);
  uint32_t all;
  uint32_t at_digit = radix_scan(counts[(int64_t)RADIX_DIGITS * gridDim.x + threadIdx.x], warps, &all) +
                      counts[(int64_t)threadIdx.x * gridDim.x + blockIdx.x];
  for (int w = 0; w < RADIX_WARPS; w++) {
    const uint32_t count = next[w][threadIdx.x];
    next[w][threadIdx.x] = at_digit, at_digit += count;
  }
  __syncthreads();
#pragma unroll 4
  for (int round = 0; round < RADIX_ROUNDS; round++) {
    const int64_t at = radix_at(round);
    const bool is_there = at < n;
    const uint32_t key = is_there ? keys[at] : 0, value = is_there ? values[at] : 0;
    const int digit = is_there ? (int)(key >> shift & (RADIX_DIGITS - 1)) : RADIX_DIGITS;
    const unsigned peers = radix_peers(digit);
    const uint32_t first = is_there ? next[warp][digit] : 0;
    __syncwarp();
    if (is_there) {
      const uint32_t to = first + (uint32_t)__popc(peers & ((1u << lane) - 1));
      to_keys[to] = key, to_values[to] = value;
      if (lane == __ffs((int)peers) - 1) next[warp][digit] = first + (uint32_t)__popc(peers);
    }
    __syncwarp();
  }
}

/* Sorts n pairs, keys below `limit`, which lie in keys[0], values[0]; returns where they are then: 0 or 1. */
static inline int radix_sort(const radix_pairs &p, int64_t n, int64_t limit, cudaStream_t stream) {
  const unsigned n_tiles = (unsigned)radix_tiles(n);
  int from = 0;
  for (int shift = 0; n > 0 && (limit - 1) >> shift > 0; shift += 8, from = !from) {
    radix_count_tiles<<<n_tiles, RADIX_THREADS, 0, stream>>>(p.keys[from], p.counts, n, shift);
    radix_scan_digits<<<RADIX_DIGITS, RADIX_THREADS, 0, stream>>>(p.counts, n_tiles);
    radix_place<<<n_tiles, RADIX_THREADS, 0, stream>>>(p.keys[from], p.values[from], p.keys[!from], p.values[!from], p.counts, n, shift);
  }
  return from;
}
#endif
