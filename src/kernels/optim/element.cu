/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/optim/optim.h"
#include "numeric/hd.h"

namespace {
#include "kernels/optim/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__optim_elements_cuda_run, iso__optim_element)
