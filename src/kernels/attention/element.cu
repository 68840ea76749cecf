/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh): every dtype,
 * every size, and the gradient of the scores. */
#include "kernels/cuda/element.cuh"
#include "kernels/attention/attention.h"
#include "numeric/half.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"
#include "numeric/philox.h"

namespace {
#include "kernels/attention/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__attention_elements_cuda_run, iso__attention_element)
