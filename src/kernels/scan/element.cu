/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/scan/scan.h"
#include "numeric/dtype.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"

namespace {
#include "kernels/scan/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__scan_elements_cuda_run, iso__scan_element)
