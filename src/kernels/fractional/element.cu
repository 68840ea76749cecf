/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/fractional/fractional.h"
#include "numeric/order.h"

namespace {
#include "kernels/fractional/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__fractional_elements_cuda_run, iso__fractional_element)
