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
enum { THREADS = 256 };
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
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < w.n; i += (int64_t)gridDim.x * THREADS) {
    int64_t v = w.is_i32 ? ((const int32_t *)w.from)[i] : ((const int64_t *)w.from)[i];
    if (w.ignores && v == w.ignored) {
      w.to[i] = w.extent;
      continue;
    }
    if (w.wraps && v < 0) v += w.extent;
    const bool is_good = v >= 0 && v < w.extent;
    w.to[i] = is_good ? v : 0;
    if (!is_good && bad == ~0ull) bad = (unsigned long long)i;
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
