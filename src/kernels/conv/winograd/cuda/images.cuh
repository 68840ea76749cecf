/* images.cuh: the transforms of forward and backward to the data for one class: kernel, source, result (cut.h).
 *
 * The source is read 16 bytes a thread, channels side by side, and written along tiles: a block of 32 tiles and 16
 * channels is turned in shared memory a row of points at a time, two buffers taking turns. The kernel transform reads
 * and writes whole sectors of 32 bytes. Classes of large tiles, odd channel counts and unaligned operands go channel by
 * channel. */
#include "kernels/conv/winograd/cuda/launch_table.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/conv/winograd/cuda/vector.cuh"

namespace {

enum { THREADS = 128 };

/* ---- kernel: w → u (group, t, c, K) ---- */

/* A block: 32 output and 8 source channels, two of these a thread. Forward reads along c, so a warp takes 8 k × 4 pairs
 * of c; a turned kernel lies along k in both. */
template <class C, bool turned>
__global__ void __launch_bounds__(THREADS)
    kernel_transform(const float *__restrict__ w, float *__restrict__ u, int n_c, int n_k, int k_pad) {
  iso__cuda_await_step();
  constexpr int R = C::r, A = C::alpha;
  const int in_warp = threadIdx.x & 31, warp = threadIdx.x >> 5, group = blockIdx.z;
  const int k = blockIdx.x * 32 + (turned ? in_warp : warp * 8 + in_warp % 8);
  const int c0 = blockIdx.y * 8 + (turned ? warp : in_warp / 8) * 2;
  if (k >= k_pad) return;
#pragma unroll
  for (int e = 0; e < 2; e++) {
    const int c = c0 + e;
    if (c >= n_c) return;
    float half[A][R];
#pragma unroll
    for (int j = 0; j < R; j++) {
      float g[R], moved[A];
#pragma unroll
      for (int i = 0; i < R; i++) {
        const int64_t at = turned ? (((int64_t)group * n_c + c) * R * R + (R - 1 - i) * R + R - 1 - j) * n_k + k
                                  : (((int64_t)group * n_k + k) * R * R + i * R + j) * n_c + c;
        g[i] = k < n_k ? w[at] : 0;
      }
      C::kernel(g, moved);
#pragma unroll
      for (int i = 0; i < A; i++) half[i][j] = moved[i];
    }
    float *to = u + ((int64_t)group * C::points * n_c + c) * k_pad + k;
#pragma unroll
    for (int i = 0; i < A; i++) {
      float moved[A];
      C::kernel(half[i], moved);
#pragma unroll
      for (int j = 0; j < A; j++) to[(int64_t)(i * A + j) * n_c * k_pad] = moved[j];
    }
  }
}

/* ---- source: x → v (group, t, c, T) ---- */

template <class V> struct turning {
  static constexpr int lanes = width<V> == 4 ? 4 : 8, tiles = THREADS / lanes, channels = lanes * width<V>;
  static constexpr int row = width<V> == 4 ? tiles : tiles + 4; /* floats; without conflicts between banks */
  /* A float4's four rows meet other lanes' in the same banks: their columns are exchanged instead. */
  static __device__ __forceinline__ int column(int tile, int channel) {
    return width<V> == 4 ? tile ^ (channel / 4 * 8) : tile;
  }
};

template <class C, class V>
__global__ void __launch_bounds__(THREADS)
    source_transform(const float *__restrict__ x, float *__restrict__ v, const iso__wino_cuda_slice s) {
  iso__cuda_await_step();
  using T = turning<V>;
  constexpr int A = C::alpha, W = width<V>;
  __shared__ __align__(16) float turned[2][A][T::channels * T::row];
  const int lane_of = threadIdx.x % T::lanes, tile = threadIdx.x / T::lanes, channel = lane_of * W;
  const int t = blockIdx.x * T::tiles + tile, c = blockIdx.y * T::channels + channel;
  const bool on = t < s.n_tiles && c < s.channels;
  const tile_place place = place_of(s, on ? t : 0, C::m);
  const float *from = x + place.at + (int64_t)blockIdx.z * s.channels + c;
  V half[A][A];
#pragma unroll
  for (int j = 0; j < A; j++) {
    V d[A], moved[A];
#pragma unroll
    for (int i = 0; i < A; i++) d[i] = load_or_zero<V>(from + place.offset(i, j), on && place.inside(i, j));
    C::data(d, moved);
#pragma unroll
    for (int i = 0; i < A; i++) half[i][j] = moved[i];
  }
  const int column = threadIdx.x % (T::tiles / W) * W, row = threadIdx.x / (T::tiles / W);
  const int t_out = blockIdx.x * T::tiles + column, c_out = blockIdx.y * T::channels + row;
  const bool stores = t_out < s.tiles_pad && c_out < s.channels;
  const int64_t point = (int64_t)s.channels * s.tiles_pad;
  float *to = v + (int64_t)blockIdx.z * C::points * point + (int64_t)c_out * s.tiles_pad + t_out;
#pragma unroll
  for (int i = 0; i < A; i++) {
    V moved[A];
    C::data(half[i], moved);
#pragma unroll
    for (int j = 0; j < A; j++)
#pragma unroll
      for (int e = 0; e < W; e++)
        turned[i & 1][j][(channel + e) * T::row + T::column(tile, channel)] = lane(moved[j], e);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < A; j++)
      if (stores) store(to + (i * A + j) * point, load<V>(&turned[i & 1][j][row * T::row + T::column(column, row)]));
  }
}

/* ---- result: m (chunk, group, t, tile, K) → y ---- */

template <class C, class V, bool one_slot>
__global__ void __launch_bounds__(THREADS)
    result_transform(const iso__conv_cuda_slots slots, float *y, const iso__wino_cuda_slice s,
                     const iso__wino_cuda_epilogue e) {
  iso__cuda_await_step();
  constexpr int A = C::alpha, M = C::m, W = width<V>;
  const int vectors = (s.channels + W - 1) / W, group = blockIdx.y;
  const int i0 = (int)blockIdx.x * THREADS + threadIdx.x, tile = i0 / vectors, k = i0 % vectors * W;
  if (tile >= s.n_tiles) return;
  const int64_t point = (int64_t)s.tiles_pad * s.channels_pad;
  const float *from = slots.sums + group * C::points * point + (int64_t)tile * s.channels_pad + k;
  V half[M][A];
#pragma unroll
  for (int j = 0; j < A; j++) {
    V sum[A], moved[M];
    folded<V, A, one_slot ? 1 : 0>(from + j * point, A * point, slots, sum);
    C::output(sum, moved);
#pragma unroll
    for (int i = 0; i < M; i++) half[i][j] = moved[i];
  }
  const tile_place place = place_of(s, tile, M);
  const int64_t at = place.at + (int64_t)group * s.channels + k;
  const V bias = e.bias ? load<V>(e.bias + (int64_t)group * s.channels + k) : splat<V>(0.0f);
#pragma unroll
  for (int i = 0; i < M; i++) {
    V out[M];
    C::output(half[i], out);
#pragma unroll
    for (int j = 0; j < M; j++)
      if (place.inside(i, j)) {
        const int64_t to = at + place.offset(i, j);
        V value = out[j];
        if (e.bias) value = add(value, bias);
        if (e.residual) value = add(value, load<V>(e.residual + to));
        if (e.relu) value = relu(value);
        __stcs((V *)(y + to), value); /* not before sums that are still to be read */
      }
  }
}

/* ---- launches ---- */

inline unsigned blocks_of(int64_t n, int64_t size) { return (unsigned)((n + size - 1) / size); }

template <class C> void launch_kernel(const float *w, float *u, const iso__wino_cuda_cut *cut, cudaStream_t stream) {
  const dim3 grid(blocks_of(cut->k_pad, 32), blocks_of(cut->c, 8), (unsigned)cut->groups);
  if (cut->turned)
    iso__cuda_launch_step(kernel_transform<C, true>, grid, THREADS, 0, stream, w, u, cut->c, cut->k, cut->k_pad);
  else iso__cuda_launch_step(kernel_transform<C, false>, grid, THREADS, 0, stream, w, u, cut->c, cut->k, cut->k_pad);
}

template <class C, class V>
void launch_source_of(const float *x, float *v, const iso__wino_cuda_slice *s, cudaStream_t stream) {
  const dim3 grid(blocks_of(s->n_tiles, turning<V>::tiles), blocks_of(s->channels, turning<V>::channels),
                  (unsigned)s->n_groups);
  iso__cuda_launch_step(source_transform<C, V>, grid, THREADS, 0, stream, x, v, *s);
}
template <class C>
void launch_source(const float *x, float *v, const iso__wino_cuda_slice *s, bool vec, cudaStream_t stream) {
  if constexpr (C::by_four)
    if (vec) return launch_source_of<C, float4>(x, v, s, stream);
  launch_source_of<C, float>(x, v, s, stream);
}

template <class C, class V, bool one_slot>
void launch_result_of(const iso__conv_cuda_slots *m, float *y, const iso__wino_cuda_slice *s,
                      const iso__wino_cuda_epilogue *e, cudaStream_t stream) {
  const int vectors = (s->channels + width<V> - 1) / width<V>;
  const dim3 grid(blocks_of((int64_t)s->n_tiles * vectors, THREADS), (unsigned)s->n_groups);
  iso__cuda_launch_step(result_transform<C, V, one_slot>, grid, THREADS, 0, stream, *m, y, *s, *e);
}
template <class C>
void launch_result(const iso__conv_cuda_slots *m, float *y, const iso__wino_cuda_slice *s,
                   const iso__wino_cuda_epilogue *e, bool vec, cudaStream_t stream) {
  if constexpr (C::by_four)
    if (vec)
      return m->n == 1 ? launch_result_of<C, float4, true>(m, y, s, e, stream)
                       : launch_result_of<C, float4, false>(m, y, s, e, stream);
  launch_result_of<C, float, false>(m, y, s, e, stream);
}

} // namespace

#define ISO__WINO_CUDA_IMAGES(suffix)                                                                                  \
  extern const iso__wino_cuda_images iso__wino_cuda_images_##suffix;                                                   \
  const iso__wino_cuda_images iso__wino_cuda_images_##suffix = {                                                       \
      launch_kernel<winograd_##suffix>, launch_source<winograd_##suffix>, launch_result<winograd_##suffix>};
