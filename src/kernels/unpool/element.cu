/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/unpool/unpool.h"
#include "numeric/dtype.h"
#include "numeric/order.h"

namespace {
#include "kernels/unpool/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__unpool_pick_elements_cuda_run, iso__unpool_pick_element)
