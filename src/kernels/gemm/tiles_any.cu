/* tiles_any.cu: products of matrices of any alignment, either way round: one float a copy. */
#include "kernels/gemm/tile_loaders.cuh"
#include "kernels/gemm/gemm_tiles.cuh"

namespace iso__tiles {
using S = small_shape;
using x_any = x_scalars<S::rows, S::threads>;
using k_any = k_scalars<S::rows, S::threads>;
static_assert(S::rows == S::columns, "one loader serves both operands");

void launch_any(const params &p, bool trans_a, bool trans_b, cudaStream_t stream) {
  if (trans_a && trans_b) launch<S, x_any, k_any>(p, stream);
  else if (trans_a) launch<S, x_any, x_any>(p, stream);
  else if (trans_b) launch<S, k_any, k_any>(p, stream);
  else launch<S, k_any, x_any>(p, stream);
}
} // namespace iso__tiles
