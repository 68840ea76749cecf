/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/norm/norm.h"
#include "numeric/order.h"

namespace {
#include "kernels/norm/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__norm_elements_cuda_run, iso__norm_element)
