/* radix.cuh: a stable sort of pairs of 32-bit words by their keys, least digit of 8 bits first.
 *
 * A pass: every tile counts its digits; each digit's counts are summed up over the tiles; every tile brings its pairs
 * into order in shared memory, so that equal digits leave side by side. Within a tile pairs keep their order because
 * warps take consecutive parts of it, 32 pairs at a time, and a lane's rank among equal digits is the number of lower
 * lanes that hold it. All in integers: nothing depends on scheduling. */
#ifndef ISO_KERNELS_SCATTER_RADIX_CUH
#define ISO_KERNELS_SCATTER_RADIX_CUH
#include <stdint.h>

enum { RADIX_THREADS = 256, RADIX_BITS = 8, RADIX_DIGITS = 1 << RADIX_BITS, RADIX_ROUNDS = 16, RADIX_WARPS = RADIX_THREADS / 32 };
enum { RADIX_TILE = RADIX_THREADS * RADIX_ROUNDS };

struct radix_pairs {
  uint32_t *keys[2], *values[2], *counts; /* (digit, tile), then the digits' totals */
};
static inline int64_t radix_tiles(int64_t n) { return (n + RADIX_TILE - 1) / RADIX_TILE; }
static inline int64_t radix_items(int64_t n) { return RADIX_DIGITS * (radix_tiles(n) + 1); }

/* Where this lane's pair of a round lies: warps take consecutive parts of the tile. */
static __device__ __forceinline__ int64_t radix_at(int round) {
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  return (int64_t)blockIdx.x * RADIX_TILE + (warp * RADIX_ROUNDS + round) * 32 + lane;
}
static __device__ __forceinline__ int radix_digit(uint32_t key, int shift) { return (int)(key >> shift & (RADIX_DIGITS - 1)); }

/* This thread's keys, and how many earlier pairs of its warp's part have the same digit; of_warp (shared) gets each
 * warp's counts. */
static __device__ __forceinline__ void radix_rank(uint32_t (&key)[RADIX_ROUNDS], int (&rank)[RADIX_ROUNDS], uint32_t (*of_warp)[RADIX_DIGITS],
                                                  const uint32_t *keys, int64_t n, int shift) {
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int round = 0; round < RADIX_ROUNDS; round++) key[round] = radix_at(round) < n ? __ldg(keys + radix_at(round)) : 0;
#pragma unroll
  for (int w = 0; w < RADIX_WARPS; w++) of_warp[w][threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int round = 0; round < RADIX_ROUNDS; round++) {
    const bool is_there = radix_at(round) < n;
    const int digit = radix_digit(key[round], shift);
    unsigned peers = __ballot_sync(0xffffffffu, is_there);
#pragma unroll
    for (int bit = 0; bit < RADIX_BITS; bit++) {
      const bool is_set = digit >> bit & 1;
      const unsigned set = __ballot_sync(0xffffffffu, is_set);
      peers &= is_set ? set : ~set;
    }
    rank[round] = is_there ? (int)of_warp[warp][digit] + __popc(peers & ((1u << lane) - 1)) : 0;
    __syncwarp();
    if (is_there && lane == __ffs((int)peers) - 1) of_warp[warp][digit] += (uint32_t)__popc(peers);
    __syncwarp();
  }
  __syncthreads();
}

static __global__ void __launch_bounds__(RADIX_THREADS) radix_count(const uint32_t *keys, uint32_t *counts, int64_t n, int shift) {
  __shared__ uint32_t of_warp[RADIX_WARPS][RADIX_DIGITS];
  uint32_t key[RADIX_ROUNDS], sum = 0;
  int rank[RADIX_ROUNDS];
  radix_rank(key, rank, of_warp, keys, n, shift);
  for (int w = 0; w < RADIX_WARPS; w++) sum += of_warp[w][threadIdx.x];
  counts[(int64_t)threadIdx.x * gridDim.x + blockIdx.x] = sum;
}

/* The sum of a block's earlier threads' values; *total gets all of them. `warps` is shared. */
static __device__ __forceinline__ uint32_t radix_scan(uint32_t v, uint32_t *warps, uint32_t *total) {
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
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
  __shared__ uint32_t of_warp[RADIX_WARPS][RADIX_DIGITS], warps[RADIX_WARPS], base[RADIX_DIGITS];
  __shared__ uint32_t tile_keys[RADIX_TILE], tile_values[RADIX_TILE];
  const int warp = (int)threadIdx.x / 32;
  uint32_t key[RADIX_ROUNDS], value[RADIX_ROUNDS], all;
  int rank[RADIX_ROUNDS];
#pragma unroll
  for (int round = 0; round < RADIX_ROUNDS; round++) value[round] = radix_at(round) < n ? __ldg(values + radix_at(round)) : 0;
  radix_rank(key, rank, of_warp, keys, n, shift);
  /* A thread a digit: where it begins in the whole, and in the tile. */
  const uint32_t begin = radix_scan(counts[(int64_t)RADIX_DIGITS * gridDim.x + threadIdx.x], warps, &all) +
                         counts[(int64_t)threadIdx.x * gridDim.x + blockIdx.x];
  uint32_t sum = 0;
  for (int w = 0; w < RADIX_WARPS; w++) sum += of_warp[w][threadIdx.x];
  uint32_t local = radix_scan(sum, warps, &all);
  base[threadIdx.x] = begin - local;
  for (int w = 0; w < RADIX_WARPS; w++) {
    const uint32_t count = of_warp[w][threadIdx.x];
    of_warp[w][threadIdx.x] = local, local += count;
  }
  __syncthreads();
#pragma unroll
  for (int round = 0; round < RADIX_ROUNDS; round++) {
    if (radix_at(round) >= n) continue;
    const uint32_t to = of_warp[warp][radix_digit(key[round], shift)] + (uint32_t)rank[round];
    tile_keys[to] = key[round], tile_values[to] = value[round];
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < all; i += RADIX_THREADS) {
    const uint32_t k = tile_keys[i], to = base[radix_digit(k, shift)] + i;
    to_keys[to] = k, to_values[to] = tile_values[i];
  }
}

/* Sorts n pairs, keys below `limit`, which lie in keys[0], values[0]; returns where they are then: 0 or 1. */
static inline int radix_sort(const radix_pairs &p, int64_t n, int64_t limit, cudaStream_t stream) {
  const unsigned n_tiles = (unsigned)radix_tiles(n);
  int from = 0;
  for (int shift = 0; n > 0 && (limit - 1) >> shift > 0; shift += RADIX_BITS, from = !from) {
    radix_count<<<n_tiles, RADIX_THREADS, 0, stream>>>(p.keys[from], p.counts, n, shift);
    radix_scan_digits<<<RADIX_DIGITS, RADIX_THREADS, 0, stream>>>(p.counts, n_tiles);
    radix_place<<<n_tiles, RADIX_THREADS, 0, stream>>>(p.keys[from], p.values[from], p.keys[!from], p.values[!from], p.counts, n, shift);
  }
  return from;
}
#endif
