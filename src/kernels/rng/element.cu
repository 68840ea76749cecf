/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/rng/rng.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/philox.h"

namespace {
#include "kernels/rng/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__dropout_elements_cuda_run, iso__dropout_element)
ISO__CUDA_ELEMENT(iso__random_fill_elements_cuda_run, iso__random_fill_element)
