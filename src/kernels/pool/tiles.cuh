/* tiles.cuh: square windows of 2×2 and 3×3 in images, whose places the compiler knows: all loads of a thread are under way
 * at once. Gradients by tiles: a thread takes the stride × stride positions that begin at a window's first, reads the few
 * windows that reach into them once, and writes them all. */
#ifndef ISO_KERNELS_POOL_TILES_CUH
#define ISO_KERNELS_POOL_TILES_CUH
#include "kernels/cuda/divide.cuh"
#include "kernels/cuda/ordered.cuh"

enum { POOL_THREADS = 128 };
struct tile_axis {
  int in, out, stride, pad;
  divider by; /* windows, or tiles */
};
struct tiled {
  const float *from;
  float *to;
  uint8_t *index;
  tile_axis h, w;
  uint32_t n_threads;
  int channels; /* in groups of V */
  divider by_channels;
  int divisor;
  bool count_padding;
};
struct tile_place {
  int image, h, w, channel;
};
static __device__ __forceinline__ bool tile_of(const tiled &t, tile_place *at) {
  uint32_t i = blockIdx.x * POOL_THREADS + threadIdx.x;
  if (i >= t.n_threads) return false;
  at->channel = (int)take_digit(t.by_channels, &i), at->w = (int)take_digit(t.w.by, &i), at->h = (int)take_digit(t.h.by, &i);
  at->image = (int)i;
  return true;
}
/* Positions of window o inside the axis, or inside it and its padding. */
template <int K> static __device__ __forceinline__ int tile_count(const tile_axis &a, int o, bool padded) {
  const int first = o * a.stride - a.pad;
  return padded ? min(K, a.in + a.pad - first) : min(K, a.in - first) - max(0, -first);
}
template <int K> static __device__ __forceinline__ float tile_divisor(const tiled &t, int oh, int ow) {
  return (float)(t.divisor ? t.divisor : tile_count<K>(t.h, oh, t.count_padding) * tile_count<K>(t.w, ow, t.count_padding));
}
template <int V> static __device__ __forceinline__ items<V> all_are(float value) {
  items<V> x;
#pragma unroll
  for (int c = 0; c < V; c++) x.v[c] = value;
  return x;
}
/* The winners' numbers of V channels. */
template <int V> static __device__ __forceinline__ void read_winners(int (&winner)[V], const uint8_t *index, int at) {
  if constexpr (V == 4) {
    const uchar4 w = __ldg((const uchar4 *)index + at);
    winner[0] = w.x, winner[1] = w.y, winner[2] = w.z, winner[3] = w.w;
  } else {
    winner[0] = __ldg(index + at);
  }
}

/* Window positions outside are −∞, which never wins over the first one inside, or +0, which changes no sum. */
template <int K, bool is_max> static __global__ void __launch_bounds__(POOL_THREADS) tile_forward(const __grid_constant__ tiled t) {
  tile_place o;
  if (!tile_of(t, &o)) return;
  const int h0 = o.h * t.h.stride - t.h.pad, w0 = o.w * t.w.stride - t.w.pad;
  const int corner = ((o.image * t.h.in + h0) * t.w.in + w0) * t.channels + o.channel;
  items<4> x[K * K];
#pragma unroll
  for (int i = 0; i < K; i++)
#pragma unroll
    for (int j = 0; j < K; j++) {
      const bool inside = (unsigned)(h0 + i) < (unsigned)t.h.in && (unsigned)(w0 + j) < (unsigned)t.w.in;
      x[i * K + j] = inside ? read<4>(t.from, corner + (i * t.w.in + j) * t.channels) : all_are<4>(is_max ? -INFINITY : 0);
    }
  const int at = ((o.image * t.h.out + o.h) * t.w.out + o.w) * t.channels + o.channel;
  items<4> y = all_are<4>(is_max ? -INFINITY : 0);
  if constexpr (is_max) {
    const int first = max(0, -h0) * K + max(0, -w0);
    int winner[4] = {first, first, first, first};
#pragma unroll
    for (int k = 0; k < K * K; k++)
#pragma unroll
      for (int c = 0; c < 4; c++)
        if (y.v[c] == y.v[c] && !(x[k].v[c] <= y.v[c])) y.v[c] = x[k].v[c], winner[c] = k;
    ((uchar4 *)t.index)[at] = make_uchar4((uint8_t)winner[0], (uint8_t)winner[1], (uint8_t)winner[2], (uint8_t)winner[3]);
  } else {
#pragma unroll
    for (int k = 0; k < K * K; k++)
#pragma unroll
      for (int c = 0; c < 4; c++) y.v[c] = y.v[c] + x[k].v[c];
    const float divisor = tile_divisor<K>(t, o.h, o.w);
#pragma unroll
    for (int c = 0; c < 4; c++) y.v[c] = y.v[c] / divisor;
  }
  write<4>(t.to, at, y);
}

/* Tile u holds positions u·S − pad + q; window u − j sees them at q + j·S. Windows that are not there send +0. */
template <int K, int S, bool is_max> static __global__ void __launch_bounds__(POOL_THREADS) tile_backward(const __grid_constant__ tiled t) {
  tile_place u;
  if (!tile_of(t, &u)) return;
  constexpr int over = (K + S - 1) / S;
  items<4> dy[over][over], dx[S][S] = {};
  int winner[over][over][4];
#pragma unroll
  for (int j = 0; j < over; j++)
#pragma unroll
    for (int l = 0; l < over; l++) {
      const int oh = u.h - j, ow = u.w - l;
      const bool is_there = (unsigned)oh < (unsigned)t.h.out && (unsigned)ow < (unsigned)t.w.out;
      const int at = ((u.image * t.h.out + oh) * t.w.out + ow) * t.channels + u.channel;
      dy[j][l] = is_there ? read<4>(t.from, at) : all_are<4>(0);
      if constexpr (is_max) {
        winner[j][l][0] = winner[j][l][1] = winner[j][l][2] = winner[j][l][3] = -1;
        if (is_there) read_winners<4>(winner[j][l], t.index, at);
      } else {
        const float divisor = is_there ? tile_divisor<K>(t, oh, ow) : 1;
#pragma unroll
        for (int c = 0; c < 4; c++) dy[j][l].v[c] = dy[j][l].v[c] / divisor;
      }
    }
#pragma unroll
  for (int j = over - 1; j >= 0; j--)
#pragma unroll
    for (int l = over - 1; l >= 0; l--)
#pragma unroll
      for (int q = 0; q < S && q + j * S < K; q++)
#pragma unroll
        for (int r = 0; r < S && r + l * S < K; r++)
#pragma unroll
          for (int c = 0; c < 4; c++)
            if (!is_max || winner[j][l][c] == (q + j * S) * K + r + l * S) dx[q][r].v[c] = dx[q][r].v[c] + dy[j][l].v[c];
  const int h0 = u.h * S - t.h.pad, w0 = u.w * S - t.w.pad;
  const int corner = ((u.image * t.h.in + h0) * t.w.in + w0) * t.channels + u.channel;
#pragma unroll
  for (int q = 0; q < S; q++)
#pragma unroll
    for (int r = 0; r < S; r++)
      if ((unsigned)(h0 + q) < (unsigned)t.h.in && (unsigned)(w0 + r) < (unsigned)t.w.in)
        write<4>(t.to, corner + (q * t.w.in + r) * t.channels, dx[q][r]);
}

/* Averages of whole volumes of n positions: one `ordered` sum a channel; backward, a quotient that all positions get. */
enum { WHOLE_POSITIONS = 16 }; /* of a thread, backward */
struct whole {
  const float *from;
  float *to;
  uint32_t n_threads;
  int n, channels;
  divider by_channels;
  float divisor;
};
template <int V> static __global__ void __launch_bounds__(POOL_THREADS) average_whole(const __grid_constant__ whole w) {
  const uint32_t i = blockIdx.x * POOL_THREADS + threadIdx.x;
  if (i >= w.n_threads) return;
  uint32_t image = i;
  const int channel = (int)take_digit(w.by_channels, &image);
  int64_t at = (int64_t)image * w.n * w.channels + channel;
  sums<V> s = {};
  for (int begin = 0; begin < w.n; begin += ISO__CHUNK) {
    const int end = min(begin + ISO__CHUNK, w.n);
#pragma unroll 8
    for (int k = begin; k < end; k++, at += w.channels) {
      const items<V> x = read<V>(w.from, at);
#pragma unroll
      for (int c = 0; c < V; c++) s.acc[c] = s.acc[c] + x.v[c];
    }
    s.n = end - 1; /* terms before the last one */
    sums_next(s);
  }
  items<V> y;
#pragma unroll
  for (int c = 0; c < V; c++) y.v[c] = sums_end(s, c) / w.divisor;
  write<V>(w.to, i, y);
}
template <int V> static __global__ void __launch_bounds__(POOL_THREADS) average_whole_backward(const __grid_constant__ whole w) {
  const uint32_t i = blockIdx.x * POOL_THREADS + threadIdx.x;
  if (i >= w.n_threads) return;
  uint32_t image = i;
  const int channel = (int)take_digit(w.by_channels, &image);
  const int begin = (int)blockIdx.y * WHOLE_POSITIONS, end = min(begin + WHOLE_POSITIONS, w.n);
  items<V> dx = read<V>(w.from, i);
#pragma unroll
  for (int c = 0; c < V; c++) dx.v[c] = 0.0f + dx.v[c] / w.divisor; /* a sum of one */
  int64_t at = ((int64_t)image * w.n + begin) * w.channels + channel;
#pragma unroll 4
  for (int k = begin; k < end; k++, at += w.channels) write<V>(w.to, at, dx);
}
#endif
