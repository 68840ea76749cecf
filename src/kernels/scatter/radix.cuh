/* radix.cuh: a stable sort of pairs of 32-bit words by their keys, least digit of 10 bits first.
 *
 * A pass: every tile counts its digits; each digit's counts are summed up over the tiles; every tile brings its pairs
 * into order in shared memory, so that equal digits leave side by side. Within a tile pairs keep their order because
 * warps take consecutive parts of it, 32 pairs at a time, and a lane's rank among equal digits is the number of lower
 * lanes that hold it. All in integers: nothing depends on scheduling.
 *
 * The first pass makes its pairs from a source (`uint2 pair(j)` and `uint32_t key(j)`): they are written once sorted by
 * a digit, not before. */
#ifndef ISO_KERNELS_SCATTER_RADIX_CUH
#define ISO_KERNELS_SCATTER_RADIX_CUH
#include <stdint.h>

enum { RADIX_THREADS = 256, RADIX_BITS = 10, RADIX_DIGITS = 1 << RADIX_BITS, RADIX_WARPS = RADIX_THREADS / 32 };
enum { RADIX_ROUNDS = 16, RADIX_FEW_ROUNDS = 4, RADIX_FEW = 1 << 18 }; /* pairs a thread; of so few pairs in all */
enum { RADIX_COPIES = 4 };                                             /* of the counters: many equal digits meet less */
enum { RADIX_OWN = RADIX_DIGITS / RADIX_THREADS };                     /* digits of a thread: 4 */

static inline bool radix_is_few(int64_t n) { return n <= RADIX_FEW; }
static inline int64_t radix_tiles(int64_t n) {
  const int64_t tile = RADIX_THREADS * (int64_t)(radix_is_few(n) ? RADIX_FEW_ROUNDS : RADIX_ROUNDS);
  return (n + tile - 1) / tile;
}
/* Words of the counts: (tile, digit), then the digits' totals. */
static inline int64_t radix_items(int64_t n) { return RADIX_DIGITS * (radix_tiles(n) + 1); }

struct radix_pairs {
  const uint2 *pairs;
  __device__ __forceinline__ uint2 pair(int64_t j) const { return __ldg(pairs + j); }
  __device__ __forceinline__ uint32_t key(int64_t j) const { return __ldg(&pairs[j].x); }
};
static __device__ __forceinline__ int radix_digit(uint32_t key, int shift) { return (int)(key >> shift & (RADIX_DIGITS - 1)); }

/* Work that was launched for the case that an earlier kernel opens the gate; NULL: there is none. */
static __device__ __forceinline__ bool radix_is_shut(const uint32_t *gate) { return gate && *gate == 0; }

template <int rounds, class Source>
static __global__ void __launch_bounds__(RADIX_THREADS)
    radix_count(const __grid_constant__ Source source, uint32_t *counts, int64_t n, int shift, const uint32_t *gate) {
  if (radix_is_shut(gate)) return;
  __shared__ uint32_t copies[RADIX_COPIES * RADIX_DIGITS];
  for (int i = threadIdx.x; i < RADIX_COPIES * RADIX_DIGITS; i += RADIX_THREADS) copies[i] = 0;
  __syncthreads();
  const int64_t begin = (int64_t)blockIdx.x * (RADIX_THREADS * rounds) + threadIdx.x;
  uint32_t key[rounds];
#pragma unroll
  for (int r = 0; r < rounds; r++) key[r] = begin + r * RADIX_THREADS < n ? source.key(begin + r * RADIX_THREADS) : 0;
#pragma unroll
  for (int r = 0; r < rounds; r++)
    if (begin + r * RADIX_THREADS < n) atomicAdd(&copies[threadIdx.x % RADIX_COPIES * RADIX_DIGITS + radix_digit(key[r], shift)], 1u);
  __syncthreads();
  for (int d = threadIdx.x; d < RADIX_DIGITS; d += RADIX_THREADS) {
    uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < RADIX_COPIES; c++) sum += copies[c * RADIX_DIGITS + d];
    counts[(int64_t)blockIdx.x * RADIX_DIGITS + d] = sum;
  }
}

/* A block 32 digits: counts become the sums of earlier tiles' counts, the last row their totals. 32 parts of the tiles
 * side by side. */
static __global__ void __launch_bounds__(1024) radix_scan_tiles(uint32_t *counts, int n_tiles, const uint32_t *gate) {
  if (radix_is_shut(gate)) return;
  __shared__ uint32_t parts[32][33];
  const int x = (int)threadIdx.x % 32, y = (int)threadIdx.x / 32, high = (n_tiles + 31) / 32;
  uint32_t *column = counts + blockIdx.x * 32 + x, sum = 0;
  const int begin = y * high, end = begin + high < n_tiles ? begin + high : n_tiles;
#pragma unroll 8
  for (int i = begin; i < end; i++) sum += column[(int64_t)i * RADIX_DIGITS];
  parts[y][x] = sum;
  __syncthreads();
  uint32_t before = 0;
  for (int i = 0; i < y; i++) before += parts[i][x];
  if (y == 31) column[(int64_t)n_tiles * RADIX_DIGITS] = before + sum;
#pragma unroll 8
  for (int i = begin; i < end; i++) {
    const uint32_t count = column[(int64_t)i * RADIX_DIGITS];
    column[(int64_t)i * RADIX_DIGITS] = before, before += count;
  }
}

/* The sum of a block's earlier threads' values. `warps` is shared. */
template <int n_warps = RADIX_WARPS> static __device__ __forceinline__ uint32_t radix_scan(uint32_t v, uint32_t *warps) {
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  uint32_t sum = v;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += below;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  uint32_t before = 0;
#pragma unroll
  for (int w = 0; w < n_warps; w++) before += w < warp ? warps[w] : 0;
  __syncthreads();
  return before + sum - v;
}

/* How many earlier pairs of this warp have the same digit as this thread's, which `is_there`; `counts`
 * (shared, the warp's own) goes on. By all of a warp, round after round. */
static __device__ __forceinline__ uint32_t radix_rank(uint16_t *counts, int digit, bool is_there) {
  unsigned peers = __ballot_sync(0xffffffffu, is_there);
#pragma unroll
  for (int bit = 0; bit < RADIX_BITS; bit++) {
    const bool is_set = digit >> bit & 1;
    const unsigned set = __ballot_sync(0xffffffffu, is_set);
    peers &= is_set ? set : ~set;
  }
  const uint32_t lower = (uint32_t)__popc(peers & ((1u << threadIdx.x % 32) - 1)), earlier = counts[digit];
  __syncwarp();
  if (is_there && lower == 0) counts[digit] = (uint16_t)(earlier + (uint32_t)__popc(peers));
  __syncwarp();
  return earlier + lower;
}

/* Shared memory of radix_place: each warp's counts, then the tile's pairs; where digits go. */
template <int rounds> struct radix_tile {
  union {
    uint16_t of_warp[RADIX_WARPS][RADIX_DIGITS];
    uint2 pairs[RADIX_THREADS * rounds];
  };
  uint32_t base[RADIX_DIGITS], warps[RADIX_WARPS];
};
static __device__ __forceinline__ uint2 plus(const uint2 &a, const uint2 &b) { return make_uint2(a.x + b.x, a.y + b.y); }

template <int rounds, class Source>
static __global__ void __launch_bounds__(RADIX_THREADS, 4)
    radix_place(const __grid_constant__ Source source, uint2 *to, const uint32_t *counts, int64_t n, int shift, const uint32_t *gate) {
  if (radix_is_shut(gate)) return;
  __shared__ __align__(16) radix_tile<rounds> tile;
  const int t = (int)threadIdx.x, warp = t / 32, lane = t % 32;
  const int64_t first = (int64_t)blockIdx.x * (RADIX_THREADS * rounds), begin = first + warp * rounds * 32 + lane;
  uint2 pair[rounds];
  uint32_t places[rounds / 2] = {}; /* within the tile, two a word */
#pragma unroll
  for (int r = 0; r < rounds; r++) pair[r] = begin + r * 32 < n ? source.pair(begin + r * 32) : make_uint2(0, 0);
#pragma unroll
  for (int w = 0; w < RADIX_WARPS; w++) ((uint2 *)tile.of_warp[w])[t] = make_uint2(0, 0);
  __syncthreads();
#pragma unroll
  for (int r = 0; r < rounds; r++) {
    places[r / 2] |= radix_rank(tile.of_warp[warp], radix_digit(pair[r].x, shift), begin + r * 32 < n) << r % 2 * 16;
  }
  __syncthreads();
  /* A thread four digits, two a word (a tile has less than 2^16): where they begin in the whole, and in the tile. */
  const uint4 total = ((const uint4 *)(counts + (int64_t)RADIX_DIGITS * gridDim.x))[t];
  const uint4 earlier = ((const uint4 *)(counts + (int64_t)RADIX_DIGITS * blockIdx.x))[t];
  uint2 sum = make_uint2(0, 0);
#pragma unroll
  for (int w = 0; w < RADIX_WARPS; w++) sum = plus(sum, ((const uint2 *)tile.of_warp[w])[t]);
  uint32_t whole = radix_scan(total.x + total.y + total.z + total.w, tile.warps);
  const uint32_t own[RADIX_OWN] = {sum.x & 0xffff, sum.x >> 16, sum.y & 0xffff, sum.y >> 16};
  const uint32_t totals[RADIX_OWN] = {total.x, total.y, total.z, total.w}, before[RADIX_OWN] = {earlier.x, earlier.y, earlier.z, earlier.w};
  uint32_t local = radix_scan(own[0] + own[1] + own[2] + own[3], tile.warps), at[RADIX_OWN];
#pragma unroll
  for (int k = 0; k < RADIX_OWN; k++) {
    at[k] = local, tile.base[RADIX_OWN * t + k] = whole + before[k] - local;
    whole += totals[k], local += own[k];
  }
  uint2 next = make_uint2(at[0] | at[1] << 16, at[2] | at[3] << 16);
#pragma unroll
  for (int w = 0; w < RADIX_WARPS; w++) {
    uint2 *words = (uint2 *)tile.of_warp[w] + t;
    const uint2 count = *words;
    *words = next, next = plus(next, count);
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < rounds; r++) places[r / 2] += (uint32_t)tile.of_warp[warp][radix_digit(pair[r].x, shift)] << r % 2 * 16;
  __syncthreads();
#pragma unroll
  for (int r = 0; r < rounds; r++)
    if (begin + r * 32 < n) tile.pairs[places[r / 2] >> r % 2 * 16 & 0xffff] = pair[r];
  __syncthreads();
  const int here = (int)(n - first < RADIX_THREADS * rounds ? n - first : RADIX_THREADS * rounds);
#pragma unroll 4
  for (int i = t; i < here; i += RADIX_THREADS) {
    const uint2 p = tile.pairs[i];
    to[tile.base[radix_digit(p.x, shift)] + (uint32_t)i] = p;
  }
}

template <int rounds, class Source>
static inline void radix_pass(const Source &source, uint2 *to, uint32_t *counts, int64_t n, int shift, const uint32_t *gate, cudaStream_t stream) {
  const int n_tiles = (int)radix_tiles(n);
  radix_count<rounds, Source><<<n_tiles, RADIX_THREADS, 0, stream>>>(source, counts, n, shift, gate);
  radix_scan_tiles<<<RADIX_DIGITS / 32, 1024, 0, stream>>>(counts, n_tiles, gate);
  radix_place<rounds, Source><<<n_tiles, RADIX_THREADS, 0, stream>>>(source, to, counts, n, shift, gate);
}
template <class Source>
static inline void radix_pass_of(const Source &source, uint2 *to, uint32_t *counts, int64_t n, int shift, const uint32_t *gate, cudaStream_t stream) {
  if (radix_is_few(n)) radix_pass<RADIX_FEW_ROUNDS>(source, to, counts, n, shift, gate, stream);
  else radix_pass<RADIX_ROUNDS>(source, to, counts, n, shift, gate, stream);
}

/* Sorts n pairs of `source`, whose keys are below `limit`; returns where they are then: 0 or 1. */
template <class Source>
static inline int radix_sort(const Source &source, uint2 *const pairs[2], uint32_t *counts, int64_t n, int64_t limit, const uint32_t *gate,
                             cudaStream_t stream) {
  int at = 0;
  if (n == 0) return at;
  radix_pass_of(source, pairs[at], counts, n, 0, gate, stream);
  for (int shift = RADIX_BITS; (limit - 1) >> shift > 0; shift += RADIX_BITS, at = !at)
    radix_pass_of(radix_pairs{pairs[at]}, pairs[!at], counts, n, shift, gate, stream);
  return at;
}
#endif
