/* tiles_short.cuh: the product kernel (tiles.cuh) for short sums over many rows, as 1×1 convolutions have them.
 *
 * With a few tiles of terms a block of tiles.cuh would mostly wait: for its first terms, then for its stores. Here a
 * block stays with its columns, keeps all of B, at most 128 terms, in shared memory, and walks along rows: terms of the
 * next rows come while these are multiplied and stored. A is k-major. Blocks of all columns walk along the same rows,
 * so that A comes from memory once. */
#ifndef ISO_KERNELS_GEMM_TILES_SHORT_CUH
#define ISO_KERNELS_GEMM_TILES_SHORT_CUH
#include "kernels/gemm/tile_loaders.cuh"

namespace iso__tiles {
constexpr int short_terms = 128, short_stages = 5;

template <class S, class A> static int short_bytes(int k) {
  return (short_stages * depth * A::pitch + (int)round_up(k, depth) * S::columns) * 4;
}

/* grid: x (lane of rows, tile of columns); z items. */
template <class S, class A>
__global__ void __launch_bounds__(S::threads, S::min_blocks) short_kernel(const __grid_constant__ params p) {
  iso__cuda_await_step();
  static_assert(A::k_major && A::ring_bytes == 0);
  using B = x_vectors<S::columns, S::threads>;
  constexpr int stages = short_stages, in_flight = stages - 2; /* four terms of the next stage are read ahead */
  extern __shared__ __align__(128) float shared[];
  const uint32_t stage_a = (uint32_t)__cvta_generic_to_shared(shared),
                 all_of_b = stage_a + stages * depth * A::pitch * 4;
  const int z = p.first_z + blockIdx.z, n0 = blockIdx.x % p.n_tiles * S::columns;
  const int first_tile = blockIdx.x / p.n_tiles, tile_step = gridDim.x / p.n_tiles;

  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int lane_row = (lane >> 1 & 1) | (lane >> 4 & 1) << 1;
  const int lane_column = (lane & 1) | (lane >> 2 & 1) << 1 | (lane >> 3 & 1) << 2;
  const int am = warp / (S::columns / S::warp_columns) * S::warp_rows + lane_row;
  const int bn = warp % (S::columns / S::warp_columns) * S::warp_columns + lane_column * 4;

  B load_b;
  load_b.init(p, p.b, z, n0, 0, NULL);
  for (int k = 0; k < p.k; k += depth) load_b.issue(p, all_of_b + k * S::columns * 4, p.k - k);
  A load_a;
  load_a.init(p, p.a, z, first_tile * S::rows, 0, NULL);
  int fetch_tile = first_tile, k_left = p.k;
  const auto fetch = [&](int stage) {
    if (fetch_tile < p.m_tiles) {
      load_a.issue(p, stage_a + stage * depth * A::pitch * 4, k_left);
      k_left -= depth;
      if (k_left <= 0) {
        fetch_tile += tile_step, k_left = p.k;
        load_a.init(p, p.a, z, fetch_tile * S::rows, 0, NULL);
      }
    }
    copies_commit();
  };
#pragma unroll 1
  for (int s = 0; s < in_flight; s++) fetch(s);

  float acc[8][8], fb[2][8];
  float4 qa[2][8];
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++) acc[i][j] = 0.0f;
  /* Byte offsets of this lane's fragments, opaque so that they stay in registers. */
  const int a0 = (am * depth + 4 * ((am >> 1) & 3)) * 4, b0 = stages * depth * A::pitch * 4 + bn * 4;
  int a_at = a0, b_at = b0, a_next, b_next;
  asm volatile("" : "+r"(a_at), "+r"(b_at));
  const auto at = [&](int offset) { return *(const float4 *)((const char *)shared + offset); };
  const auto fragment_b = [&](int offset, int kk) {
#pragma unroll
    for (int j = 0; j < S::vectors; j++)
      *(float4 *)&fb[kk & 1][j * 4] = at(offset + j * S::lane_columns * 16 + kk * S::columns * 4);
  };
  const auto quad_a = [&](int offset, int quad, int part) {
#pragma unroll
    for (int i = part * 2; i < part * 2 + 2; i++)
      qa[quad & 1][i] = at((offset ^ ((quad ^ ((i * S::lane_rows >> 1) & 3)) * 16)) + i * S::lane_rows * depth * 4);
  };
  copies_wait<in_flight - 1>();
  __syncthreads();
  int read_stage = 0, write_stage = in_flight;
  fragment_b(b_at, 0);
#pragma unroll
  for (int part = 0; part < 4; part++) quad_a(a_at, 0, part);

  for (int tile = first_tile; tile < p.m_tiles; tile += tile_step) {
#pragma unroll 1
    for (int k = 0; k < p.k; k += depth) {
#pragma unroll
      for (int kk = 0; kk < depth; kk++) {
        if (kk == depth - 4) { /* the next stage is read from here on */
          copies_wait<in_flight - 1>();
          __syncthreads();
          read_stage = read_stage + 1 == stages ? 0 : read_stage + 1;
          a_next = a0 + read_stage * (depth * A::pitch * 4);
          b_next = k + depth < p.k ? b_at + depth * S::columns * 4 : b0;
          asm volatile("" : "+r"(a_next), "+r"(b_next));
        }
        quad_a(kk / 4 == depth / 4 - 1 ? a_next : a_at, (kk / 4 + 1) % (depth / 4), kk % 4);
        fragment_b(kk == depth - 1 ? b_next : b_at, (kk + 1) % depth);
        if (kk == 0) fetch(write_stage);
        const auto a_value = [&](int i) {
          const float4 v = qa[kk / 4 & 1][i];
          return kk % 4 == 0 ? v.x : kk % 4 == 1 ? v.y : kk % 4 == 2 ? v.z : v.w;
        };
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
          for (int jj = 0; jj < 8; jj++) {
            const int j = i & 1 ? 7 - jj : jj;
            acc[i][j] = __fmaf_rn(a_value(i), fb[kk & 1][j], acc[i][j]);
          }
      }
      write_stage = write_stage + 1 == stages ? 0 : write_stage + 1;
      a_at = a_next, b_at = b_next;
    }
    end_only_chunk<S, true, false>(p, acc, z, 0, tile * S::rows + am, n0 + bn);
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
      for (int j = 0; j < 8; j++) acc[i][j] = 0.0f;
  }
}

/* Whether the product is one for short_kernel: enough tiles that blocks have several. */
template <class S> static bool is_short(const params &p) {
  const int64_t tiles = (int64_t)((p.m + S::rows - 1) / S::rows) * ((p.n + S::columns - 1) / S::columns);
  return !p.split && p.k <= short_terms && p.n <= 16 * S::columns && 2 * tiles >= 3 * S::min_blocks * multiprocessors();
}
template <class S, class A> static void launch_short(params p, cudaStream_t stream) {
  p.m_tiles = (p.m + S::rows - 1) / S::rows, p.n_tiles = (p.n + S::columns - 1) / S::columns;
  p.plain = is_plain(p);
  const int n_bytes = short_bytes<S, A>(p.k), room = S::min_blocks * multiprocessors() / p.n_tiles;
  iso__cuda_shared(short_kernel<S, A>, n_bytes);
  for (p.first_z = 0; p.first_z < p.n_z; p.first_z += 65535) {
    const unsigned items = (unsigned)(p.n_z - p.first_z < 65535 ? p.n_z - p.first_z : 65535);
    const dim3 grid((unsigned)(p.n_tiles * (p.m_tiles < room ? p.m_tiles : room)), 1, items);
    iso__cuda_launch_step(short_kernel<S, A>, grid, S::threads, n_bytes, stream, p);
  }
}
} // namespace iso__tiles
#endif
