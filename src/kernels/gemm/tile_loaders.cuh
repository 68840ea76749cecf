/* tile_loaders.cuh: loaders of matrices for tiles.cuh.
 *
 * A loader fetches extent×16 tiles of an operand, one tile a call, and zeros for what lies outside. Matrices whose
 * neighbours in memory are neighbours in x lie in shared memory as (k, x); those whose neighbours are terms lie as
 * (x, k) if a whole vector can be copied (`k_major`, vectors swizzled by row), else as (k, x) with rows four floats
 * longer, so that the transposing copies meet no bank twice. */
#ifndef ISO_KERNELS_GEMM_TILE_LOADERS_CUH
#define ISO_KERNELS_GEMM_TILE_LOADERS_CUH
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {

enum { never = 1 << 30 }; /* a k beyond every end: what is outside in x is outside at every k */

/* Element (x, k) at k·ld + x, `width` x a copy: one, or whole vectors of 16-byte aligned rows. */
template <int extent, int threads, int width> struct x_copies {
  static constexpr bool k_major = false;
  static constexpr int pitch = extent, ring_bytes = 0;
  static constexpr int across = extent / width, step = threads / across, n = depth / step;
  static_assert(n * step == depth, "a tile is whole rounds of the block");
  const float *from;
  int ld, k, to;
  __device__ __forceinline__ void init(const params &, const operand &o, int z, int x0, int k0, int4 *) {
    const int x = threadIdx.x % across * width;
    k = threadIdx.x / across, ld = o.ld;
    from = o.data + z * o.stride_z + (int64_t)(k0 + k) * ld + x0 + x;
    to = (k * pitch + x) * 4;
    if (x0 + x >= o.extent) k = never;
  }
  __device__ __forceinline__ void prepare(const params &) {}
  __device__ __forceinline__ void issue(const params &, uint32_t stage, int k_left) {
#pragma unroll
    for (int i = 0; i < n; i++)
      copy_floats<width>(stage + to + i * step * pitch * 4, from + (int64_t)i * step * ld, k + i * step < k_left);
    from += (int64_t)depth * ld;
  }
};
template <int extent, int threads> using x_vectors = x_copies<extent, threads, 4>;
template <int extent, int threads> using x_scalars = x_copies<extent, threads, 1>;

/* Element (x, k) at x·ld + k, 16-byte aligned rows; k in whole vectors. */
template <int extent, int threads> struct k_vectors {
  static constexpr bool k_major = true;
  static constexpr int pitch = extent, ring_bytes = 0;
  static constexpr int vectors = depth / 4, step = threads / vectors, n = extent / step;
  static_assert(n * step == extent && step % 8 == 0, "a tile is whole rounds of the block");
  const float *from;
  int ld, k, to;
  uint32_t inside;
  __device__ __forceinline__ void init(const params &, const operand &o, int z, int x0, int k0, int4 *) {
    const int vector = threadIdx.x % vectors, x = threadIdx.x / vectors;
    k = vector * 4, ld = o.ld;
    from = o.data + z * o.stride_z + (int64_t)(x0 + x) * ld + k0 + k;
    to = (x * depth + 4 * (vector ^ ((x >> 1) & 3))) * 4;
    inside = 0;
#pragma unroll
    for (int i = 0; i < n; i++)
      if (x0 + x + i * step < o.extent) inside |= 1u << i;
  }
  __device__ __forceinline__ void prepare(const params &) {}
  __device__ __forceinline__ void issue(const params &, uint32_t stage, int k_left) {
#pragma unroll
    for (int i = 0; i < n; i++)
      copy16(stage + to + i * step * depth * 4, from + (int64_t)i * step * ld, (inside >> i & 1) && k < k_left);
    from += depth;
  }
};

/* The same for any alignment, turned on the way. */
template <int extent, int threads> struct k_scalars {
  static constexpr bool k_major = false;
  static constexpr int pitch = extent + 4, ring_bytes = 0;
  static constexpr int step = threads / 8, n = extent / step;
  static_assert(n * step == extent, "a tile is whole rounds of the block");
  const float *from;
  int ld, k, to;
  uint32_t inside;
  __device__ __forceinline__ void init(const params &, const operand &o, int z, int x0, int k0, int4 *) {
    const int x = threadIdx.x / 8;
    k = threadIdx.x % 8, ld = o.ld;
    from = o.data + z * o.stride_z + (int64_t)(x0 + x) * ld + k0 + k;
    to = (k * pitch + x) * 4;
    inside = 0;
#pragma unroll
    for (int i = 0; i < n; i++)
      if (x0 + x + i * step < o.extent) inside |= 1u << i;
  }
  __device__ __forceinline__ void prepare(const params &) {}
  __device__ __forceinline__ void issue(const params &, uint32_t stage, int k_left) {
#pragma unroll
    for (int i = 0; i < n; i++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        copy4(stage + to + (half * 8 * pitch + i * step) * 4, from + (int64_t)i * step * ld + half * 8,
              (inside >> i & 1) && k + half * 8 < k_left);
    from += depth;
  }
};

} // namespace iso__tiles
#endif
