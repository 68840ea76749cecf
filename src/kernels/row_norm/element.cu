/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/row_norm/row_norm.h"
#include "numeric/order.h"

namespace {
#include "kernels/row_norm/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__row_norm_elements_cuda_run, iso__row_norm_element)
