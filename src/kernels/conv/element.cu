/* element.cu: the reference's own code on the device, one thread an element (kernels/cuda/element.cuh). */
#include "kernels/cuda/element.cuh"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "numeric/order.h"

namespace {
#include "kernels/conv/reference.c"
} // namespace
ISO__CUDA_ELEMENT(iso__conv_fwd_elements_cuda_run, iso__conv_fwd_element)
ISO__CUDA_ELEMENT(iso__conv_bwd_data_elements_cuda_run, iso__conv_bwd_data_element)
ISO__CUDA_ELEMENT(iso__conv_bwd_weights_elements_cuda_run, iso__conv_bwd_weights_element)
