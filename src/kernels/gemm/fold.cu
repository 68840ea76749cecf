/* fold.cu: C from the slots of a product that was cut along K: chunk sums are added to panels and panels to the total,
 * ascending, then the epilogue. A thread has four columns of one row and sixteen slots in flight. */
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {
namespace {
enum { threads = 128, in_flight = 16 };

__global__ void __launch_bounds__(threads) fold_kernel(const __grid_constant__ params p) {
  const int vectors = p.slot_ld / 4;
  const int64_t n = (int64_t)p.n_z * p.m * vectors;
  const int64_t i = (int64_t)blockIdx.x * threads + threadIdx.x;
  if (i >= n) return;
  const int column = (int)(i % vectors) * 4, row = (int)(i / vectors % p.m), z = (int)(i / vectors / p.m);
  const int64_t slot_step = p.slot_stride * p.n_z;
  const float *from = p.slots + z * p.slot_stride + (int64_t)row * p.slot_ld + column;
  const bool of_chunks = p.chunks_per_slot == 1;
  float4 total = make_float4(0, 0, 0, 0), panel = total;
  for (int s0 = 0; s0 < p.n_slots; s0 += in_flight) {
    float4 v[in_flight];
#pragma unroll
    for (int s = 0; s < in_flight; s++)
      if (s0 + s < p.n_slots) v[s] = __ldcs((const float4 *)(from + (s0 + s) * slot_step));
#pragma unroll
    for (int s = 0; s < in_flight; s++) {
      if (s0 + s >= p.n_slots) break;
      panel = of_chunks ? add4(panel, v[s]) : v[s];
      if (of_chunks && s % 4 != 3 && s0 + s + 1 < p.n_slots) continue;
      total = add4(total, panel);
      panel = make_float4(0, 0, 0, 0);
    }
  }
  store_final(p, z, row_offset(p, row), column, total);
}
} // namespace

void fold(const params &p, cudaStream_t stream) {
  const int64_t n = (int64_t)p.n_z * p.m * (p.slot_ld / 4);
  if (n == 0) return;
  fold_kernel<<<iso__cuda_blocks(n, threads), threads, 0, stream>>>(p);
}
} // namespace iso__tiles
