/* pack.cu: weights (k,t,r,s,c) as bwd_data sums over them: rows (tap of the phase, output channel of the group),
 * columns input channels. Forward's order is a transposed copy (../gemm/turn.cu). */
#include "kernels/conv/image_tiles.cuh"

namespace iso__tiles {
namespace {
enum { threads = 128 };

__global__ void __launch_bounds__(threads) pack_kernel(const __grid_constant__ packing k) {
  const int64_t taps = (int64_t)k.n_taps[0] * k.n_taps[1] * k.n_taps[2], n = k.n_groups * taps * k.depth * k.width;
  for (int64_t i = (int64_t)blockIdx.x * threads + threadIdx.x; i < n; i += (int64_t)gridDim.x * threads) {
    const int64_t column = i % k.width, row = i / k.width, channel = row % k.depth, tap = row / k.depth % taps,
                  group = row / k.depth / taps;
    const int64_t s = k.first[2] + tap % k.n_taps[2] * k.step[2],
                  r = k.first[1] + tap / k.n_taps[2] % k.n_taps[1] * k.step[1],
                  t = k.first[0] + tap / k.n_taps[2] / k.n_taps[1] * k.step[0];
    k.to[row * k.width_pitch + column] = k.from[group * k.stride_group + channel * k.stride_channel +
                                                ((t * k.all[1] + r) * k.all[2] + s) * k.width + column];
  }
}
} // namespace

void pack(const packing &k, cudaStream_t stream) {
  const int64_t n = k.n_groups * k.n_taps[0] * k.n_taps[1] * k.n_taps[2] * k.depth * k.width;
  if (n) pack_kernel<<<iso__cuda_blocks(n < 8192 * threads ? n : 8192 * threads, threads), threads, 0, stream>>>(k);
}
} // namespace iso__tiles
