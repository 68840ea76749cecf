/* columns.cuh: ordered sums down the columns of row-major matrices: what batch norms, column reductions and gradients of
 * parameters share.
 *
 * A block takes one chunk of 256 rows and 32 columns: all its threads load and transform the tile, as many loads in
 * flight as there are, into shared memory; then one thread a column walks it in order, while other blocks load. Chunk
 * values wait in slots (chunk, column); fold_columns adds them as NUMERICS' fold does, a panel a thread, then panel
 * after panel. */
#ifndef ISO_KERNELS_COLUMNS_CUH
#define ISO_KERNELS_COLUMNS_CUH
#include <stdint.h>
#include "numeric/order.h"

enum {
  TILE_COLUMNS = 32,
  TILE_THREADS = 256,
  TILE_ITEMS = ISO__CHUNK * TILE_COLUMNS,
  FOLD_COLUMNS = 4,
  FOLD_ROUNDS = 4,   /* panels whose chunks a thread fetches at once */
  FOLD_PANELS = 1024 /* whose sums wait at a time */
};

/* A block's tile: rows row … row + n_rows − 1, columns from `column` on; threads take V neighbours each. */
struct tile_place {
  int64_t row, column, pitch;
  int n_rows;
};
static __device__ __forceinline__ tile_place tile_at(unsigned block, int64_t n_rows, int64_t n_columns) {
  const unsigned across = (unsigned)((n_columns + TILE_COLUMNS - 1) / TILE_COLUMNS);
  const int64_t row = (int64_t)(block / across) * ISO__CHUNK;
  return {row, (int64_t)(block % across) * TILE_COLUMNS, n_columns, (int)(n_rows - row < ISO__CHUNK ? n_rows - row : ISO__CHUNK)};
}
static inline int64_t tiles_of(int64_t n_rows, int64_t n_columns) {
  return ((n_rows + ISO__CHUNK - 1) / ISO__CHUNK) * ((n_columns + TILE_COLUMNS - 1) / TILE_COLUMNS);
}
/* The first column, within the tile, of those that this thread takes. */
template <int V> static __device__ __forceinline__ int tile_column() { return (int)threadIdx.x % (TILE_COLUMNS / V) * V; }
/* Calls take(row within the tile, place in the matrix) for each of this thread's; not where its columns lie outside. */
template <int V, class Take> static __device__ __forceinline__ void each_of_tile(const tile_place &tile, Take take) {
  constexpr int down = TILE_THREADS / (TILE_COLUMNS / V);
  const int64_t column = tile.column + tile_column<V>();
  if (column >= tile.pitch) return;
  int r = (int)threadIdx.x / (TILE_COLUMNS / V);
  if (tile.n_rows == ISO__CHUNK) {
#pragma unroll 8
    for (int i = 0; i < ISO__CHUNK / down; i++, r += down) take(r, (tile.row + r) * tile.pitch + column);
  } else {
    for (; r < tile.n_rows; r += down) take(r, (tile.row + r) * tile.pitch + column);
  }
}

/* V items from global to shared memory, under way until fetched(). */
template <int V> static __device__ __forceinline__ void fetch(float *to, const float *from) {
#if __CUDA_ARCH__ >= 800
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  if constexpr (V == 4) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
  else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from));
#else
#pragma unroll
  for (int k = 0; k < V; k++) to[k] = from[k];
#endif
}
/* What this thread fetched is there. */
static __device__ __forceinline__ void fetched(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
/* The tile of x as it is; then a barrier. */
template <int V> static __device__ __forceinline__ void fetch_tile(const tile_place &tile, const float *x, float (*values)[TILE_COLUMNS]) {
  const int first = tile_column<V>();
  each_of_tile<V>(tile, [&](int r, int64_t at) { fetch<V>(&values[r][first], x + at); });
  fetched();
  __syncthreads();
}
/* Calls next(r) for the rows of a tile, in order: of a whole one with loads far ahead. */
template <class Next> static __device__ __forceinline__ void walk_rows(const tile_place &tile, Next next) {
  if (tile.n_rows == ISO__CHUNK) {
#pragma unroll 64
    for (int r = 0; r < ISO__CHUNK; r++) next(r);
  } else {
#pragma unroll 8
    for (int r = 0; r < tile.n_rows; r++) next(r);
  }
}

/* Inputs that nobody writes meanwhile: loads may move ahead of stores. */
template <int V> static __device__ __forceinline__ void load_items(float (&v)[V], const float *p) {
  if constexpr (V == 4) {
    const float4 w = __ldg((const float4 *)p);
    v[0] = w.x, v[1] = w.y, v[2] = w.z, v[3] = w.w;
  } else {
    v[0] = __ldg(p);
  }
}
template <int V> static __device__ __forceinline__ void store_items(float *p, const float (&v)[V]) {
  if constexpr (V == 4) *(float4 *)p = make_float4(v[0], v[1], v[2], v[3]);
  else *p = v[0];
}
/* Whether float4 may be used on these: columns in fours and pointers to 16 bytes (or NULL). */
static inline bool is_in_fours(int64_t n, const void *a, const void *b = NULL, const void *c = NULL, const void *d = NULL) {
  return n % 4 == 0 && (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d) & 15) == 0;
}

/* fold of at(0) … at(n − 1), called by all threads of a block of fold_block(n), a column each x; `sums` is shared
 * (FOLD_PANELS, FOLD_COLUMNS). Every thread of the column gets the result. */
enum { FOLD_CHUNKS = ISO__PANEL / ISO__CHUNK, FOLD_OWN = FOLD_ROUNDS * FOLD_CHUNKS }; /* a panel's; a thread's of FOLD_PANELS */
static __host__ __device__ inline int64_t panels_of_chunks(int64_t n) { return (n + FOLD_CHUNKS - 1) / FOLD_CHUNKS; }
static inline dim3 fold_block(int64_t n) {
  unsigned high = 8;
  while (high < 256 && high * FOLD_ROUNDS < panels_of_chunks(n)) high *= 2;
  return dim3(FOLD_COLUMNS, high);
}
static inline unsigned fold_blocks(int64_t n_columns) { return (unsigned)((n_columns + FOLD_COLUMNS - 1) / FOLD_COLUMNS); }
/* The number of a thread's chunk `own` of the panels from `first` on. */
static __device__ __forceinline__ int64_t fold_number(int64_t first, int own) {
  return (first + threadIdx.y + own / FOLD_CHUNKS * blockDim.y) * FOLD_CHUNKS + own % FOLD_CHUNKS;
}
/* at(own, number): the chunk's value, also by its place among those that this thread adds up. */
template <class At> static __device__ float fold_columns(int64_t n, float (*sums)[FOLD_COLUMNS], At at) {
  const int64_t n_panels = panels_of_chunks(n);
  const int high = (int)blockDim.y;
  float total = 0;
  for (int64_t first = 0; first < n_panels; first += high * FOLD_ROUNDS) {
    const int here = (int)(n_panels - first < high * FOLD_ROUNDS ? n_panels - first : high * FOLD_ROUNDS);
    float v[FOLD_OWN];
#pragma unroll
    for (int own = 0; own < FOLD_OWN; own++) {
      const int64_t number = fold_number(first, own);
      v[own] = number < n ? at(own, number) : 0; /* an empty chunk is +0: panels are never −0 */
    }
#pragma unroll
    for (int i = 0; i < FOLD_ROUNDS; i++) {
      float panel = 0;
#pragma unroll
      for (int k = 0; k < FOLD_CHUNKS; k++) panel = panel + v[i * FOLD_CHUNKS + k];
      const int j = (int)threadIdx.y + i * high;
      if (j < here) sums[j][threadIdx.x] = panel;
    }
    __syncthreads();
    if (threadIdx.y == 0) {
#pragma unroll 32
      for (int j = 0; j < here; j++) total = total + sums[j][threadIdx.x];
    }
    __syncthreads();
  }
  if (threadIdx.y == 0) sums[0][threadIdx.x] = total;
  __syncthreads();
  total = sums[0][threadIdx.x];
  __syncthreads();
  return total;
}

/* The folds of two arrays of n slots a column, blockIdx.y says which. */
static __global__ void __launch_bounds__(1024, 1)
    fold_pairs(const float *first, const float *second, float *first_sum, float *second_sum, int64_t n, int64_t n_columns) {
  __shared__ float panels[FOLD_PANELS][FOLD_COLUMNS];
  const int64_t number = (int64_t)blockIdx.x * FOLD_COLUMNS + threadIdx.x, column = number < n_columns ? number : n_columns - 1;
  const float *slots = blockIdx.y ? second : first;
  const float sum = fold_columns(n, panels, [&](int, int64_t i) { return __ldg(slots + i * n_columns + column); });
  if (threadIdx.y == 0 && number < n_columns) (blockIdx.y ? second_sum : first_sum)[number] = sum;
}

/* Chunk sums of dy·h and of dy, which lie in two tiles: a warp each. */
static __device__ __forceinline__ void pair_sums(const float (*dys)[TILE_COLUMNS], const float (*hs)[TILE_COLUMNS],
                                                 const tile_place &tile, float *products, float *others) {
  const int t = (int)threadIdx.x % TILE_COLUMNS, warp = (int)threadIdx.x / TILE_COLUMNS;
  if (warp > 1 || tile.column + t >= tile.pitch) return;
  float sum = 0;
  if (warp == 0) walk_rows(tile, [&](int r) { sum = fmaf(dys[r][t], hs[r][t], sum); });
  else walk_rows(tile, [&](int r) { sum = sum + dys[r][t]; });
  (warp == 0 ? products : others)[tile.row / ISO__CHUNK * tile.pitch + tile.column + t] = sum;
}
/* Two tiles, in dynamic shared memory: more than a block gets without asking. */
enum { PAIR_BYTES = 2 * TILE_ITEMS * (int)sizeof(float) };
struct tile_pair {
  float (*first)[TILE_COLUMNS], (*second)[TILE_COLUMNS];
};
static __device__ __forceinline__ tile_pair shared_pair() {
  extern __shared__ __align__(16) float shared_floats[];
  float(*first)[TILE_COLUMNS] = (float(*)[TILE_COLUMNS])shared_floats;
  return {first, first + ISO__CHUNK};
}
#endif
