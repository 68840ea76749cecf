/* element.cuh: a class reference as an engine: one thread computes one output element with the reference's own code.
 *
 * Right by construction, and as fast as memory where an element needs few operands; what sums over many gets engines of
 * its own. A family's element.cu:
 *
 *   #include "kernels/cuda/element.cuh"
 *   namespace {
 *   #include "kernels/pool/reference.c"
 *   }
 *   ISO__CUDA_ELEMENT(iso__max_pool_cuda_run, iso__max_pool_element)
 *
 * Outputs that are inputs too wait in the workspace (iso__reference_workspace) until every element is known. */
#ifndef ISO_KERNELS_CUDA_ELEMENT_CUH
#define ISO_KERNELS_CUDA_ELEMENT_CUH
#include <math.h>
#include <string.h>
#include "kernels/cuda/launch.cuh"

/* A problem's and its arguments' bytes, by value: a kernel's parameters hold 4 KiB. */
struct alignas(16) iso__cuda_bytes {
  unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
};

using iso__cuda_element = bool(const iso__problem *, const void *, int, int64_t, void *);

template <iso__cuda_element element>
__global__ void iso__element_kernel(const __grid_constant__ iso__cuda_bytes problem, const __grid_constant__ iso__cuda_bytes args,
                                    int operand, char *out, const char *old, int item_bytes, int64_t n) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
    alignas(16) unsigned char value[16];
    if (!element((const iso__problem *)problem.bytes, args.bytes, operand, i, value)) {
      if (!old) continue;
      memcpy(value, old + i * item_bytes, (size_t)item_bytes);
    }
    switch (item_bytes) {
    case 1: *(uint8_t *)(out + i) = *(const uint8_t *)value; break;
    case 2: *(uint16_t *)(out + i * 2) = *(const uint16_t *)value; break;
    case 4: *(uint32_t *)(out + i * 4) = *(const uint32_t *)value; break;
    default: *(uint64_t *)(out + i * 8) = *(const uint64_t *)value; break;
    }
  }
}

/* iso__operator's and the registry's, from C++. */
extern "C" const iso__operator *iso__problem_operator(const iso__problem *problem);

template <iso__cuda_element element> static void iso__cuda_run_elements(const iso__call *call) {
  iso__operand operands[ISO__MAX_OPERANDS];
  const iso__operator *op = iso__problem_operator(call->problem);
  const int n = op->operands(call->problem, operands);
  iso__cuda_bytes problem = {}, args = {};
  memcpy(problem.bytes, call->problem, call->problem->n_bytes);
  memcpy(args.bytes, call->args, op->args_bytes);
  cudaStream_t stream = iso__cuda_stream(call);
  char *waiting = (char *)call->workspace;
  for (int i = 0; i < n; i++) {
    if (!operands[i].output || operands[i].n == 0) continue;
    char *out = (char *)iso__operand_pointer(&operands[i], call->args);
    const int item_bytes = (int)iso_dtype_size(operands[i].dtype);
    iso__element_kernel<element><<<iso__cuda_blocks(operands[i].n, 128), 128, 0, stream>>>(
        problem, args, i, waiting ? waiting : out, waiting ? out : NULL, item_bytes, operands[i].n);
    if (waiting) waiting += ((size_t)operands[i].n * (size_t)item_bytes + 63) & ~(size_t)63;
  }
  waiting = (char *)call->workspace;
  for (int i = 0; i < n && waiting; i++) {
    if (!operands[i].output) continue;
    const size_t n_bytes = (size_t)operands[i].n * iso_dtype_size(operands[i].dtype);
    if (n_bytes)
      cudaMemcpyAsync(iso__operand_pointer(&operands[i], call->args), waiting, n_bytes, cudaMemcpyDeviceToDevice, stream);
    waiting += (n_bytes + 63) & ~(size_t)63;
  }
  iso__cuda_launched(call);
}

#define ISO__CUDA_ELEMENT(run, element)                                                                                \
  extern "C" void run(const iso__call *call) { iso__cuda_run_elements<element>(call); }

#endif
