/* measure.cu: what the device itself can do (FMAs in registers, a copy from memory to memory), and a delay. */
#include <cuda_runtime.h>
extern "C" {
#include "device/cuda/state.h"
}

/* ---- a delay: occupies the stream, by the device's own clock ---- */

static __device__ unsigned long long now(void) {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

static __global__ void wait_for(unsigned long long ns) {
  const unsigned long long begin = now();
  while (now() - begin < ns) {}
}

extern "C" void iso__cuda_delay(const iso__device *device, double ns) {
  if (ns >= 1) wait_for<<<1, 1, 0, iso__cuda_device_of(device)->stream>>>((unsigned long long)ns);
}

/* ---- what a pair of events costs: an empty kernel between two, less what one more empty kernel takes ---- */

static __global__ void nothing(void) {}

/* ns between two events round n empty kernels, enqueued while the device is kept busy; −1: it failed. */
static double time_nothing(const iso__cuda_device *d, int n) {
  float ms = 0;
  wait_for<<<1, 1, 0, d->stream>>>(300000ull);
  cudaEventRecord(d->begin, d->stream);
  for (int i = 0; i < n; i++) nothing<<<1, 1, 0, d->stream>>>();
  cudaEventRecord(d->end, d->stream);
  const bool ok =
      cudaEventSynchronize(d->end) == cudaSuccess && cudaEventElapsedTime(&ms, d->begin, d->end) == cudaSuccess;
  return ok ? 1e6 * ms : -1;
}

extern "C" double iso__cuda_event_overhead_ns(const iso__device *device) {
  static const int ROUNDS_EACH = 9, MORE = 32;
  const iso__cuda_device *d = iso__cuda_device_of(device);
  double one = -1, many = -1; /* the least of each: what disturbs only adds */
  for (int i = 0; i < ROUNDS_EACH; i++) {
    const double a = time_nothing(d, 1), b = time_nothing(d, 1 + MORE);
    if (a < 0 || b < 0) return 0;
    if (one < 0 || a < one) one = a;
    if (many < 0 || b < many) many = b;
  }
  const double overhead = one - (many - one) / MORE;
  return overhead > 0 ? overhead : 0;
}

/* ---- FMAs: independent chains that live in registers, as device/cpu/peak.h has them ---- */

static const int CHAINS = 16, THREADS = 256, BLOCKS_EACH = 8, ROUNDS = 4096;

static __global__ void __launch_bounds__(THREADS) fma_chains(float *out, float factor, float term) {
  float x[CHAINS], sum = 0;
#pragma unroll
  for (int c = 0; c < CHAINS; c++) x[c] = (float)(threadIdx.x + c);
#pragma unroll 1
  for (int i = 0; i < ROUNDS; i++) {
#pragma unroll
    for (int c = 0; c < CHAINS; c++) x[c] = __fmaf_rn(x[c], factor, term);
  }
#pragma unroll
  for (int c = 0; c < CHAINS; c++) sum += x[c];
  if (sum == 0.12345f) *out = sum; /* never, which the compiler does not know */
}

/* ---- ns of one launch, the best of what fits into slice_ms; 0: the device failed ---- */

struct buffers {
  const iso__cuda_device *device;
  void *to, *from;
  size_t n_bytes;
};

static void launch_fma(const void *arg) {
  const buffers *b = (const buffers *)arg;
  fma_chains<<<(unsigned)(b->device->n_multiprocessors * BLOCKS_EACH), THREADS, 0, b->device->stream>>>((float *)b->to, 0.5f, 0.5f);
}
static void launch_copy(const void *arg) {
  const buffers *b = (const buffers *)arg;
  cudaMemcpyAsync(b->to, b->from, b->n_bytes, cudaMemcpyDeviceToDevice, b->device->stream);
}

static double best_ns(const iso__device *device, void (*launch)(const void *arg), const buffers *b, double slice_ms) {
  double best = 0, spent = 0;
  while (spent < 1e6 * slice_ms) {
    const double ns = device->time(device, launch, b);
    if (ns <= 0) return 0;
    if (best == 0 || ns < best) best = ns;
    spent += ns < 1e6 ? 1e6 : ns; /* short runs are repeated for a millisecond */
  }
  return best;
}

extern "C" double iso__cuda_peak_gflops(const iso__device *device, double slice_ms) {
  buffers b = {iso__cuda_device_of(device), NULL, NULL, 256};
  b.to = iso__cuda_cache_alloc(b.device->cache, b.n_bytes, 0, NULL);
  const double ns = b.to ? best_ns(device, launch_fma, &b, slice_ms) : 0;
  iso__cuda_cache_release(b.device->cache, b.to);
  return ns > 0 ? 2.0 * CHAINS * ROUNDS * THREADS * BLOCKS_EACH * b.device->n_multiprocessors / ns : 0;
}

extern "C" double iso__cuda_copy_gbs(const iso__device *device, double slice_ms) {
  buffers b = {iso__cuda_device_of(device), NULL, NULL, (size_t)256 << 20};
  b.to = iso__cuda_cache_alloc(b.device->cache, b.n_bytes, 0, NULL);
  b.from = b.to ? iso__cuda_cache_alloc(b.device->cache, b.n_bytes, 0, NULL) : NULL;
  const double ns = b.from ? best_ns(device, launch_copy, &b, slice_ms) : 0;
  iso__cuda_cache_release(b.device->cache, b.from);
  iso__cuda_cache_release(b.device->cache, b.to);
  iso__cuda_cache_trim(b.device->cache); /* what is measured has no use for it later */
  return ns > 0 ? 2.0 * (double)b.n_bytes / ns : 0;
}
