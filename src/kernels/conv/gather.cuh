/* gather.cuh: loaders of images for the product kernel (../gemm/tiles.cuh): im2col without the columns.
 *
 * An element of the operand is a grid position and a (tap, channel) pair. Both know where they lie along each axis and
 * their offset in memory; their sum is an element of the image if it is inside on every axis, and a real zero of the
 * padding else. Forward and bwd_data sum over (tap, channel), bwd_weights over positions. What changes with k is worked
 * out once a block and tile, by sixteen threads, in a ring in shared memory. */
#ifndef ISO_KERNELS_CONV_GATHER_CUH
#define ISO_KERNELS_CONV_GATHER_CUH
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {

enum { nowhere = -(1 << 30) }; /* on the depth axis: outside, whatever is added */

/* x: offset in the image; y, z, w: depth, row, column. */
__device__ __forceinline__ int4 position_entry(const gather &g, int i) {
  if (i >= g.n_positions) return make_int4(0, nowhere, 0, 0);
  const int u = split_off(i, g.grid[0]), t = split_off(i, g.grid[1]), o = split_off(i, g.grid[2]);
  const int d = o * g.step[0] + g.offset[0], h = t * g.step[1] + g.offset[1], w = u * g.step[2] + g.offset[2];
  return make_int4(i * g.stride_n + d * g.stride[0] + h * g.stride[1] + w * g.stride[2], d, h, w);
}
__device__ __forceinline__ int4 tap_entry(const gather &g, int j) {
  int tap = j;
  const int channel = split_off(tap, g.channels);
  if (tap >= g.n_taps) return make_int4(0, nowhere, 0, 0);
  const int w = split_off(tap, g.taps[2]) * g.tap_step[2], h = split_off(tap, g.taps[1]) * g.tap_step[1];
  const int d = tap * g.tap_step[0];
  return make_int4(channel * g.stride_c + d * g.stride[0] + h * g.stride[1] + w * g.stride[2], d, h, w);
}
/* Without branches: the bits of all three. */
__device__ __forceinline__ bool is_inside(const gather &g, int4 a, int4 b) {
  const bool d = (unsigned)(a.y + b.y) < (unsigned)g.extent[0], h = (unsigned)(a.z + b.z) < (unsigned)g.extent[1],
             w = (unsigned)(a.w + b.w) < (unsigned)g.extent[2];
  return d & h & w;
}

/* Which of at most 31 taps are inside at a position, tap by tap a bit: axis by axis. */
__device__ __forceinline__ uint32_t taps_inside(const gather &g, int4 at) {
  const int n_rows = (int)g.taps[1].d, n_columns = (int)g.taps[2].d;
  uint32_t columns = 0, taps = 0;
  for (int c = 0; c < n_columns; c++)
    columns |= (uint32_t)((unsigned)(at.w + c * g.tap_step[2]) < (unsigned)g.extent[2]) << c;
  for (int a = 0; a < (int)g.taps[0].d; a++)
    for (int b = 0; b < n_rows; b++) {
      const bool inside = ((unsigned)(at.y + a * g.tap_step[0]) < (unsigned)g.extent[0]) &
                          ((unsigned)(at.z + b * g.tap_step[1]) < (unsigned)g.extent[1]);
      taps |= inside ? columns << (a * n_rows + b) * n_columns : 0;
    }
  return taps;
}

/* The sixteen entries of a tile's k, for four tiles. */
template <bool positions_are_k> struct entry_ring {
  int4 *entries;
  int k, written, read;
  __device__ __forceinline__ void init(int4 *ring, int k0) { entries = ring, k = k0, written = read = 0; }
  __device__ __forceinline__ void prepare(const gather &g) {
    if (threadIdx.x < depth) {
      const int i = k + (int)threadIdx.x;
      entries[written * depth + threadIdx.x] = positions_are_k ? position_entry(g, i) : tap_entry(g, i);
    }
    k += depth;
    written = (written + 1) % ring_tiles;
  }
  __device__ __forceinline__ const int4 *next() {
    const int4 *tile = entries + read * depth;
    read = (read + 1) % ring_tiles;
    return tile;
  }
};

/* Positions by (tap, channel), four channels a copy, at most 31 taps: a row's taps that are inside are bits of a mask.
 */
template <int extent, int threads> struct image_rows {
  static constexpr bool k_major = true;
  static constexpr int pitch = extent, ring_bytes = 0;
  static constexpr int vectors = depth / 4, step = threads / vectors, n = extent / step;
  static_assert(n * step == extent && step % 8 == 0, "a tile is whole rounds of the block");
  const float *from;
  int to, tap, channel, tap_step, channel_step, channels;
  int offset[n];
  uint32_t taps[n];
  __device__ __forceinline__ void init(const params &p, const operand &o, int z, int x0, int k0, int4 *) {
    const gather &g = p.g;
    const int vector = threadIdx.x % vectors, x = threadIdx.x / vectors;
    from = o.data + z * o.stride_z;
    to = (x * depth + 4 * (vector ^ ((x >> 1) & 3))) * 4;
    channels = (int)g.channels.d;
    tap = k0 + vector * 4, channel = split_off(tap, g.channels);
    tap_step = depth, channel_step = split_off(tap_step, g.channels);
#pragma unroll
    for (int i = 0; i < n; i++) {
      const int4 at = position_entry(g, x0 + x + i * step);
      offset[i] = at.x;
      taps[i] = taps_inside(g, at);
    }
  }
  __device__ __forceinline__ void prepare(const params &) {}
  __device__ __forceinline__ void issue(const params &p, uint32_t stage, int) {
    const int bit = tap < max_fast_taps ? tap : max_fast_taps, shift = p.g.tap_offset[bit] + channel;
#pragma unroll
    for (int i = 0; i < n; i++)
      copy16(stage + to + i * step * depth * 4, from + (offset[i] + shift), taps[i] >> bit & 1);
    channel += channel_step, tap += tap_step;
    if (channel >= channels) channel -= channels, tap++;
  }
};

/* Any image: x are positions and k pairs, or the reverse, one float a copy; or, where pairs are x, four channels. */
template <int extent, int threads, bool positions_are_k, int width> struct image_copies {
  static_assert(width == 1 || positions_are_k, "channels are neighbours, positions are not");
  static constexpr bool k_major = false;
  static constexpr int pitch = extent, ring_bytes = ring_tiles * depth * 16;
  static constexpr int across = extent / width, step = threads / across, n = depth / step;
  static_assert(n * step == depth, "a tile is whole rounds of the block");
  const float *from;
  int to, k;
  int4 x_entry;
  entry_ring<positions_are_k> ring;
  __device__ __forceinline__ void init(const params &p, const operand &o, int z, int x0, int k0, int4 *entries) {
    const int x = threadIdx.x % across * width;
    k = threadIdx.x / across;
    from = o.data + z * o.stride_z;
    to = (k * pitch + x) * 4;
    x_entry = positions_are_k ? tap_entry(p.g, x0 + x) : position_entry(p.g, x0 + x);
    ring.init(entries, k0);
  }
  __device__ __forceinline__ void prepare(const params &p) { ring.prepare(p.g); }
  __device__ __forceinline__ void issue(const params &p, uint32_t stage, int) {
    const int4 *entries = ring.next();
#pragma unroll
    for (int i = 0; i < n; i++) {
      const int4 e = entries[k + i * step];
      copy_floats<width>(stage + to + i * step * pitch * 4, from + (x_entry.x + e.x), is_inside(p.g, x_entry, e));
    }
  }
};
template <int extent, int threads, bool positions_are_k>
using image_any = image_copies<extent, threads, positions_are_k, 1>;
template <int extent, int threads> using image_columns = image_copies<extent, threads, true, 4>;

} // namespace iso__tiles
#endif
