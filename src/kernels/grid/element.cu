/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/grid/grid.h"
#include "numeric/order.h"

namespace {
#include "kernels/grid/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__grid_elements_cuda_run, iso__grid_element)
