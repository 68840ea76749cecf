/* fold.cu: C from the slots of a product that was cut along K: chunk sums are added to panels and panels to the total,
 * ascending, then the epilogue. A thread has four columns of one row and sixteen slots in flight. */
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {
namespace {
enum { threads = 128, in_flight = 16 };

__global__ void __launch_bounds__(threads) fold_kernel(const __grid_constant__ params p) {
  iso__cuda_await_step();
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

/* The same for few results of many slots, which would each wait for its own loads: a block has 32 columns; all its
 * threads fetch the next 128 slots while the first warp adds those before. */
constexpr int few_columns = 32, few_slots = 128, few_threads = 256, few_vectors = few_columns / 4,
              few_rows = few_threads / few_vectors, few_loads = few_slots / few_rows;
__global__ void __launch_bounds__(few_threads) fold_few_kernel(const __grid_constant__ params p) {
  iso__cuda_await_step();
  __shared__ float values[few_slots][few_columns];
  const int64_t slot_step = p.slot_stride * p.n_z, n = slot_step, first = (int64_t)blockIdx.x * few_columns;
  const int vector = threadIdx.x % few_vectors * 4, row = threadIdx.x / few_vectors;
  const float *from = p.slots + first + vector;
  const bool inside = first + vector < n, of_chunks = p.chunks_per_slot == 1;
  float4 next[few_loads];
  const auto fetch = [&](int s0) {
#pragma unroll
    for (int i = 0; i < few_loads; i++) {
      const int s = s0 + row + i * few_rows;
      if (inside && s < p.n_slots) next[i] = __ldcs((const float4 *)(from + s * slot_step));
    }
  };
  float total = 0, panel = 0;
  fetch(0);
  for (int s0 = 0; s0 < p.n_slots; s0 += few_slots) {
#pragma unroll
    for (int i = 0; i < few_loads; i++) *(float4 *)&values[row + i * few_rows][vector] = next[i];
    __syncthreads();
    fetch(s0 + few_slots);
    const int n_slots = p.n_slots - s0 < few_slots ? p.n_slots - s0 : few_slots;
    if (threadIdx.x < few_columns)
#pragma unroll 16
      for (int s = 0; s < n_slots; s++) {
        const float value = values[s][threadIdx.x];
        panel = of_chunks ? __fadd_rn(panel, value) : value;
        if (of_chunks && s % 4 != 3 && s0 + s + 1 < p.n_slots) continue;
        total = __fadd_rn(total, panel), panel = 0;
      }
    __syncthreads();
  }
  const int64_t i = first + threadIdx.x;
  if (threadIdx.x >= few_columns || i >= n) return;
  const int column = (int)(i % p.slot_ld), m = (int)(i / p.slot_ld % p.m), z = (int)(i / p.slot_ld / p.m);
  if (column >= p.n) return;
  store_final_one(p, z, row_offset(p, m), column, total);
}
} // namespace

void fold(const params &p, cudaStream_t stream) {
  const int64_t n = (int64_t)p.n_z * p.m * (p.slot_ld / 4);
  if (n == 0) return;
  if (p.n_slots > 2 * in_flight && n <= 1 << 15) {
    iso__cuda_launch_step(fold_few_kernel, iso__cuda_blocks(n * 4, few_columns), few_threads, 0, stream, p);
    return;
  }
  iso__cuda_launch_step(fold_kernel, iso__cuda_blocks(n, threads), threads, 0, stream, p);
}
} // namespace iso__tiles
