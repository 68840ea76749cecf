/* epilogue.h: what may follow a product while its result is still in registers (gemm; convolution has the same order):
 * bias, residual, scale, activation, each exactly its stand-alone operator (NUMERICS §4).
 *
 * The pointwise functions are numeric/math_f32.h's, so a fused activation has the bits of the separate one. Included by
 * files compiled for one width; `iso__activate` is a call for all but relu, which is two instructions. */
#ifndef ISO_KERNELS_EPILOGUE_H
#define ISO_KERNELS_EPILOGUE_H
#include "kernels/gemm/gemm.h"
#include "numeric/math_f32.h"

/* Not inlined: the functions are long, and their registers are not to be kept from the loop round them. */
static __attribute__((noinline, unused)) vf iso__activate_by_call(vf x, uint8_t activation) {
  switch (activation) {
  case ISO__ACTIVATION_GELU: return v_gelu(x);
  case ISO__ACTIVATION_GELU_TANH: return v_gelu_tanh(x);
  case ISO__ACTIVATION_SILU: return v_silu(x);
  default: return x;
  }
}
VEC_FN vf iso__activate(vf x, uint8_t activation) {
  if (activation == ISO__ACTIVATION_NONE) return x;
  return activation == ISO__ACTIVATION_RELU ? vf_relu(x) : iso__activate_by_call(x, activation);
}
#endif
