/* image_rows.cu: convolution forward and bwd_data as products whose A is an image. */
#include "kernels/conv/gather.cuh"
#include "kernels/conv/image_tiles.cuh"
#include "kernels/gemm/tile_loaders.cuh"

namespace iso__tiles {
template <class S> static void launch_rows(const params &p, bool vectors, cudaStream_t stream) {
  using weights = x_vectors<S::columns, S::threads>;
  if (vectors) launch_short_too<S, image_rows<S::rows, S::threads>, weights>(p, stream);
  else launch<S, image_any<S::rows, S::threads, false>, weights>(p, stream);
}

void launch_image_rows(const params &p, bool vectors, tile_shape shape, cudaStream_t stream) {
  if (shape == SHAPE_WIDE) launch_rows<wide_shape>(p, vectors, stream);
  else launch_rows<small_shape>(p, vectors, stream);
}
} // namespace iso__tiles
