/* launch.cuh: what every .cu file of a kernel family needs: the plan room's types, the call's stream, checked launches.
 *
 *   extern "C" void iso__pool_cuda_run(const iso__call *call) {
 *     const iso_pool_problem *p = (const iso_pool_problem *)call->problem;
 *     pool_kernel<<<grid, block, 0, iso__cuda_stream(call)>>>(…);
 *     iso__cuda_launched(call);
 *   }
 *
 * Device code is compiled with -fmad=false -ftz=false -prec-div=true -prec-sqrt=true: every written operation rounds
 * once, fma only where it is written (NUMERICS §1). No atomics on floats. Runs never synchronise, never allocate, and
 * launch on the call's stream alone, so that a step can be captured. */
#ifndef ISO_KERNELS_CUDA_LAUNCH_CUH
#define ISO_KERNELS_CUDA_LAUNCH_CUH
#include <cuda_runtime.h>
#include <stdint.h>
extern "C" {
#include "plan/plan.h"
#include "device/cuda/cuda.h"
}

static inline cudaStream_t iso__cuda_stream(const iso__call *call) {
  return (cudaStream_t)iso__cuda_context_stream(call->ctx);
}
/* Keeps the first error of the launches before it, with the engine's name. */
static inline void iso__cuda_launched(const iso__call *call) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) iso__cuda_keep_error(call->ctx, call->engine->name, (int)error);
}
/* Blocks of `size` threads that cover n items; at most what a grid's x can have. */
static inline unsigned iso__cuda_blocks(int64_t n, int64_t size) {
  const int64_t blocks = (n + size - 1) / size;
  return (unsigned)(blocks < 1 ? 1 : blocks > 0x7fffffff ? 0x7fffffff : blocks);
}
/* Steps of an engine follow each other without the gap between two kernels: one launched like this may begin while the
 * one before it on the stream ends, and must call iso__cuda_await_step() before it reads or writes memory. (Hopper and
 * later; elsewhere a plain launch.) */
template <class... Params, class... Args>
static inline void iso__cuda_launch_step(void (*kernel)(Params...), dim3 grid, unsigned threads, size_t n_bytes,
                                         cudaStream_t stream, Args &&...args) {
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid, config.blockDim = dim3(threads), config.dynamicSmemBytes = n_bytes, config.stream = stream;
  if (major >= 9) config.attrs = &overlap, config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, static_cast<Args &&>(args)...);
}
/* Waits until the kernel before has ended and its stores are seen. */
__device__ __forceinline__ void iso__cuda_await_step() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/* A kernel that wants more than 48 KiB of dynamic shared memory asks for it once before its launch; cheap to repeat. */
template <class Kernel> static inline void iso__cuda_shared(Kernel *kernel, int n_bytes) {
  cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes);
}
#endif
