/* activate.cu: the activations that are functions, in place, after a product: long code that would cost the product's
 * kernel registers. The bits are those of the stand-alone operator (numeric/math_f32.h). */
#include "kernels/gemm/gemm_tiles.cuh"
#include "numeric/math_f32.h"

namespace iso__tiles {
namespace {
enum { threads = 256 };

/* A block a row. */
__global__ void __launch_bounds__(threads) activate_kernel(const __grid_constant__ params p, uint8_t activation) {
  float *row = p.c + blockIdx.x / (unsigned)p.m * p.stride_c + row_offset(p, (int)(blockIdx.x % (unsigned)p.m));
  for (int column = threadIdx.x; column < p.n; column += threads) {
    float *c = row + column;
    switch (activation) {
    case ISO__ACTIVATION_GELU: *c = v_gelu(*c); break;
    case ISO__ACTIVATION_GELU_TANH: *c = v_gelu_tanh(*c); break;
    default: *c = v_silu(*c); break;
    }
  }
}
} // namespace

void activate_all(const params &p, uint8_t activation, cudaStream_t stream) {
  activate_kernel<<<(unsigned)p.n_z *(unsigned)p.m, threads, 0, stream>>>(p, activation);
}
} // namespace iso__tiles
