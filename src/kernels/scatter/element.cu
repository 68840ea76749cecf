/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/scatter/scatter.h"
#include "numeric/dtype.h"
#include "numeric/order.h"

namespace {
#include "kernels/scatter/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__scatter_elements_cuda_run, iso__scatter_element)
