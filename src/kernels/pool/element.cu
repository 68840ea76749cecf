/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/pool/window.h"
#include "numeric/order.h"

namespace {
#include "kernels/pool/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__pool_elements_cuda_run, iso__pool_element)
