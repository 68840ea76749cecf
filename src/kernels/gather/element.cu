/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/gather/gather.h"
#include "numeric/dtype.h"

namespace {
#include "kernels/gather/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__gather_elements_cuda_run, iso__gather_element)
