/* weights.cuh: the transforms of backward to the weights for one class: x and dy into products along tiles, and the
 * sums back to the kernel's gradient (cut.h). Channels lie side by side in all of them, so nothing is turned. */
#include "kernels/conv/winograd/cuda/launch_table.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/conv/winograd/cuda/vector.cuh"

namespace {

enum { THREADS = 128 };

/* x → v (group, t, tile, C) from alpha × alpha pixels, or, by `grad`, dy → z (group, t, tile, K) from m × m. */
template <class C, class V, bool grad>
__device__ __forceinline__ void operand(int block, const float *__restrict__ x, float *__restrict__ to,
                                        const iso__wino_cuda_slice &s) {
  constexpr int A = C::alpha, N = grad ? C::m : A, W = width<V>;
  const int vectors = s.channels_pad / W, group = blockIdx.y;
  const int i0 = block * THREADS + (int)threadIdx.x, tile = i0 / vectors, c = i0 % vectors * W;
  if (tile >= s.n_tiles) return;
  const bool on = c < s.channels;
  const tile_place place = place_of(s, tile, C::m);
  const float *from = x + place.at + (int64_t)group * s.channels + c;
  V half[A][N];
#pragma unroll
  for (int j = 0; j < N; j++) {
    V d[N], moved[A];
#pragma unroll
    for (int i = 0; i < N; i++) d[i] = load_or_zero<V>(from + place.offset(i, j), on && place.inside(i, j));
    if constexpr (grad) C::grad(d, moved);
    else C::data(d, moved);
#pragma unroll
    for (int i = 0; i < A; i++) half[i][j] = moved[i];
  }
  const int64_t point = (int64_t)s.n_tiles * s.channels_pad;
  float *at = to + group * C::points * point + (int64_t)tile * s.channels_pad + c;
#pragma unroll
  for (int i = 0; i < A; i++) {
    V moved[A];
    if constexpr (grad) C::grad(half[i], moved);
    else C::data(half[i], moved);
#pragma unroll
    for (int j = 0; j < A; j++) store(at + (i * A + j) * point, moved[j]);
  }
}

/* Both at once: blocks below x_blocks have x. */
template <class C, class V>
__global__ void __launch_bounds__(THREADS)
    operand_transform(const iso__wino_cuda_operand x, const iso__wino_cuda_operand dy, int x_blocks) {
  iso__cuda_await_step();
  if ((int)blockIdx.x < x_blocks) operand<C, V, false>((int)blockIdx.x, x.from, x.to, x.slice);
  else operand<C, V, true>((int)blockIdx.x - x_blocks, dy.from, dy.to, dy.slice);
}

/* Sums (chunk, group, t, K, C), of one panel at most, → dw (group, k, r, r, c) */
template <class C, class V, int known_slots>
__global__ void __launch_bounds__(THREADS) dkernel_transform(const iso__conv_cuda_slots slots, float *__restrict__ dw,
                                                             int n_k, int n_c, int k_pad, int c_pad) {
  iso__cuda_await_step();
  constexpr int A = C::alpha, R = C::r, W = width<V>;
  const int vectors = (n_c + W - 1) / W, group = blockIdx.y;
  const int64_t i0 = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  const int k = (int)(i0 / vectors), c = (int)(i0 % vectors) * W;
  if (k >= n_k) return;
  const int64_t point = (int64_t)k_pad * c_pad;
  const float *from = slots.sums + group * C::points * point + (int64_t)k * c_pad + c;
  V half[R][A];
#pragma unroll
  for (int j = 0; j < A; j++) {
    V sum[A], moved[R];
    folded<V, A, known_slots>(from + j * point, A * point, slots, sum);
    C::dkernel(sum, moved);
#pragma unroll
    for (int i = 0; i < R; i++) half[i][j] = moved[i];
  }
  float *to = dw + ((int64_t)group * n_k + k) * R * R * n_c + c;
#pragma unroll
  for (int i = 0; i < R; i++) {
    V out[R];
    C::dkernel(half[i], out);
#pragma unroll
    for (int j = 0; j < R; j++) store(to + (i * R + j) * (int64_t)n_c, out[j]);
  }
}

/* ---- launches ---- */

inline unsigned blocks_of(int64_t n, int64_t size) { return (unsigned)((n + size - 1) / size); }

template <class C, class V>
void launch_operands_of(const iso__wino_cuda_operand *x, const iso__wino_cuda_operand *dy, cudaStream_t stream) {
  const auto blocks = [](const iso__wino_cuda_slice &s) {
    return blocks_of((int64_t)s.n_tiles * (s.channels_pad / width<V>), THREADS);
  };
  const dim3 grid(blocks(x->slice) + blocks(dy->slice), (unsigned)x->slice.n_groups);
  iso__cuda_launch_step(operand_transform<C, V>, grid, THREADS, 0, stream, *x, *dy, (int)blocks(x->slice));
}
template <class C>
void launch_operands(const iso__wino_cuda_operand *x, const iso__wino_cuda_operand *dy, bool vec, cudaStream_t stream) {
  if constexpr (C::by_four)
    if (vec) return launch_operands_of<C, float4>(x, dy, stream);
  launch_operands_of<C, float>(x, dy, stream);
}

template <class C, class V>
void launch_dkernel_of(const iso__conv_cuda_slots *sums, float *dw, const iso__wino_cuda_cut *cut, int n_groups,
                       cudaStream_t stream) {
  const int vectors = (cut->c + width<V> - 1) / width<V>;
  const dim3 grid(blocks_of((int64_t)cut->k * vectors, THREADS), (unsigned)n_groups);
  if (sums->n == 1)
    iso__cuda_launch_step(dkernel_transform<C, V, 1>, grid, THREADS, 0, stream, *sums, dw, cut->k, cut->c, cut->k_pad,
                          cut->c_pad);
  else
    iso__cuda_launch_step(dkernel_transform<C, V, 4>, grid, THREADS, 0, stream, *sums, dw, cut->k, cut->c, cut->k_pad,
                          cut->c_pad);
}
/* Few elements keep more multiprocessors busy one by one. */
template <class C>
void launch_dkernel(const iso__conv_cuda_slots *sums, float *dw, const iso__wino_cuda_cut *cut, int n_groups, bool vec,
                    cudaStream_t stream) {
  enum { FEW = 160000 };
  if constexpr (C::by_four)
    if (vec && (int64_t)cut->k * cut->c * n_groups > FEW)
      return launch_dkernel_of<C, float4>(sums, dw, cut, n_groups, stream);
  launch_dkernel_of<C, float>(sums, dw, cut, n_groups, stream);
}

} // namespace

#define ISO__WINO_CUDA_WEIGHTS(suffix)                                                                                 \
  extern const iso__wino_cuda_weights iso__wino_cuda_weights_##suffix;                                                 \
  const iso__wino_cuda_weights iso__wino_cuda_weights_##suffix = {launch_operands<winograd_##suffix>,                  \
                                                                  launch_dkernel<winograd_##suffix>};
