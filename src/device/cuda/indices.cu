/* indices.cu: indices in range, the first bad one reported (indices.h).
 *
 * Of a block's bad ones the lowest is found in shared memory; one thread then takes the lock, which only it of
 * its block ever waits for, and writes unless an earlier check or a lower position is there. Good indices touch nothing
 * but memory of the device. */
#include <cuda_runtime.h>
#include <stdint.h>
extern "C" {
#include "device/cuda/indices.h"
}

namespace {
enum { THREADS = 256, AHEAD = 4 };
__device__ int report_lock; /* in the device's memory: atomics of the host's are not everywhere */

__device__ void put(const iso__index_work &w, int64_t position) {
  volatile iso__index_report *r = w.report;
  const int64_t value = w.is_i32 ? ((const int32_t *)w.from)[position] : ((const int64_t *)w.from)[position];
  while (atomicCAS(&report_lock, 0, 1) != 0) {
  }
  if (r->check == 0 || (r->check == w.check && position < r->position)) r->position = position, r->value = value, r->check = w.check;
  __threadfence_system();
  atomicExch(&report_lock, 0);
}

__global__ void __launch_bounds__(THREADS) check_indices(const __grid_constant__ iso__index_work w) {
  __shared__ unsigned long long lowest;
  unsigned long long bad = ~0ull;
  const int64_t stride = (int64_t)gridDim.x * THREADS;
  for (int64_t first = (int64_t)blockIdx.x * THREADS + threadIdx.x; first < w.n; first += AHEAD * stride) {
    int64_t v[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const int64_t i = first + k * stride;
      if (i < w.n) v[k] = w.is_i32 ? __ldg((const int32_t *)w.from + i) : __ldg((const long long *)w.from + i);
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const int64_t i = first + k * stride;
      if (i >= w.n) continue;
      const bool is_ignored = w.ignores && v[k] == w.ignored;
      if (w.wraps && v[k] < 0) v[k] += w.extent;
      const bool is_good = (uint64_t)v[k] < (uint64_t)w.extent;
      w.to[i] = is_ignored ? w.extent : is_good ? v[k] : 0;
      if (!is_good && !is_ignored && bad == ~0ull) bad = (unsigned long long)i;
    }
  }
  if (!__syncthreads_or(bad != ~0ull)) return;
  if (threadIdx.x == 0) lowest = ~0ull;
  __syncthreads();
  if (bad != ~0ull) atomicMin(&lowest, bad);
  __syncthreads();
  if (bad != ~0ull && bad == lowest) put(w, (int64_t)bad);
}
} // namespace

extern "C" int iso__cuda_launch_index_check(const iso__index_work *w, void *stream, int n_multiprocessors) {
  if (w->n == 0) return 0;
  const int64_t blocks = (w->n + THREADS - 1) / THREADS, most = 8 * (int64_t)n_multiprocessors;
  check_indices<<<(unsigned)(blocks < most ? blocks : most), THREADS, 0, (cudaStream_t)stream>>>(*w);
  return (int)cudaGetLastError();
}
