/* probe.cu: one kernel on the first device, and its numbers compared: the last step of the check list. */
#include <cuda_runtime.h>
#include <stdio.h>
extern "C" {
#include "device/cuda/checks.h"
}

static __global__ void probe(unsigned *out) { out[threadIdx.x] = 3 * threadIdx.x + blockDim.x; }

extern "C" const char *iso__cuda_probe(char *why, size_t n_bytes) {
  enum { N = 64 };
  unsigned *out = NULL, got[N] = {0};
  cudaError_t error = cudaMalloc((void **)&out, sizeof got);
  if (error == cudaSuccess) {
    probe<<<1, N>>>(out);
    error = cudaGetLastError();
  }
  if (error == cudaSuccess) error = cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(out);
  if (error != cudaSuccess) {
    snprintf(why, n_bytes, "%s (%s)", cudaGetErrorString(error), cudaGetErrorName(error));
    return why;
  }
  for (unsigned i = 0; i < N; i++)
    if (got[i] != 3 * i + N) {
      snprintf(why, n_bytes, "a kernel ran, but element %u is %u, not %u", i, got[i], 3 * i + N);
      return why;
    }
  return NULL;
}
