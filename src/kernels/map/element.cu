/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/map/chain.h"
#include "kernels/map/functions.h"
#include "kernels/map/integer_functions.h"
#include "kernels/map/real_bits.h"
#include "kernels/map/real_functions.h"
#include "numeric/dtype.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"

namespace {
#include "kernels/map/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__map_elements_cuda_run, iso__map_element)
ISO__CUDA_ELEMENT(iso__copy_elements_cuda_run, iso__copy_element)
ISO__CUDA_ELEMENT(iso__chain_elements_cuda_run, iso__chain_element)
