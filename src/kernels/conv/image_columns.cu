/* image_columns.cu: bwd_weights as a product over positions: dyᵀ by the image's (tap, channel) columns. */
#include "kernels/conv/gather.cuh"
#include "kernels/conv/image_tiles.cuh"
#include "kernels/gemm/tile_loaders.cuh"

namespace iso__tiles {
template <class S> static void launch_vectors_a(const params &p, bool vectors_b, cudaStream_t stream) {
  using gradient = x_vectors<S::rows, S::threads>;
  if (vectors_b) launch<S, gradient, image_columns<S::columns, S::threads>>(p, stream);
  else launch<S, gradient, image_any<S::columns, S::threads, true>>(p, stream);
}

void launch_image_columns(const params &p, bool vectors_a, bool vectors_b, tile_shape shape, cudaStream_t stream) {
  using S = small_shape;
  if (!vectors_a) launch<S, x_scalars<S::rows, S::threads>, image_any<S::columns, S::threads, true>>(p, stream);
  else if (shape == SHAPE_WIDE) launch_vectors_a<wide_shape>(p, vectors_b, stream);
  else launch_vectors_a<small_shape>(p, vectors_b, stream);
}
} // namespace iso__tiles
