/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/loss/loss.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"

namespace {
#include "kernels/loss/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__cross_entropy_elements_cuda_run, iso__cross_entropy_element)
