/* turn.cu: a transposing copy, 64×64 elements a block through shared memory; near the speed of a plain copy. Products
 * prefer operands whose neighbours in memory are neighbours in m or n: turning one first costs about a hundredth of a
 * large product and gains more. */
#include "kernels/gemm/gemm_tiles.cuh"

namespace iso__tiles {
namespace {
enum { side = 64, threads = 256, rounds = side * side / threads };

__global__ void __launch_bounds__(threads) turn_kernel(const __grid_constant__ turning t, int64_t first_z, int n_down) {
  iso__cuda_await_step();
  __shared__ float tile[side][side + 1];
  const int64_t r0 = (int64_t)(blockIdx.x % n_down) * side, c0 = (int64_t)(blockIdx.x / n_down) * side,
                z = first_z + blockIdx.y;
  const float *from = t.from + z * t.stride_from;
  float *to = t.to + z * t.stride_to;
  const int x = threadIdx.x % side, y = threadIdx.x / side;
#pragma unroll
  for (int i = 0; i < rounds; i++) {
    const int64_t r = r0 + y + i * (threads / side), c = c0 + x;
    if (r < t.rows && c < t.columns) tile[y + i * (threads / side)][x] = from[r * t.ld_from + c];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < rounds; i++) {
    const int64_t c = c0 + y + i * (threads / side), r = r0 + x;
    if (r < t.rows && c < t.columns) to[c * t.ld_to + r] = tile[x][y + i * (threads / side)];
  }
}
} // namespace

void turn(const turning &t, cudaStream_t stream) {
  const int64_t n_down = (t.rows + side - 1) / side, n_across = (t.columns + side - 1) / side;
  if (n_down * n_across == 0) return;
  for (int64_t z = 0; z < t.n_z; z += 65535) {
    const unsigned items = (unsigned)(t.n_z - z < 65535 ? t.n_z - z : 65535);
    iso__cuda_launch_step(turn_kernel, dim3((unsigned)(n_down * n_across), items), threads, 0, stream, t, z,
                          (int)n_down);
  }
}
} // namespace iso__tiles
