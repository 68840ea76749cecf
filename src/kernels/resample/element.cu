/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/resample/taps.h"
#include "numeric/order.h"

namespace {
#include "kernels/resample/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__resample_elements_cuda_run, iso__resample_element)
