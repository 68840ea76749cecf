/* tiles_aligned.cu: products of matrices whose rows are 16-byte aligned: Aᵀ·B, and A·B with A k-major. */
#include "kernels/gemm/tiles_short.cuh"
#include "kernels/gemm/gemm_tiles.cuh"

namespace iso__tiles {
template <class S> using x_of_a = x_vectors<S::rows, S::threads>;
template <class S> using k_of_a = k_vectors<S::rows, S::threads>;
template <class S> using x_of_b = x_vectors<S::columns, S::threads>;

void launch_tn(const params &p, tile_shape shape, cudaStream_t stream) {
  using large = large_flat_shape;
  using wide = wide_flat_shape;
  using small = small_flat_shape;
  const auto area = [&](int rows, int columns) { return round_up(p.m, rows) * round_up(p.n, columns); };
  const bool lies_well = area(wide::rows, wide::columns) <= area(wide::columns, wide::rows);
  if (shape == SHAPE_LARGE) launch<large, x_of_a<large>, x_of_b<large>>(p, stream);
  else if (shape == SHAPE_WIDE && lies_well) launch_short_too<wide, x_of_a<wide>, x_of_b<wide>>(p, stream);
  else launch_short_too<small, x_of_a<small>, x_of_b<small>>(p, stream);
}
void launch_nn(const params &p, tile_shape shape, cudaStream_t stream) {
  if (shape == SHAPE_WIDE && is_short<wide_shape>(p)) launch_short<wide_shape, k_of_a<wide_shape>>(p, stream);
  else if (shape == SHAPE_WIDE) launch_short_too<wide_shape, k_of_a<wide_shape>, x_of_b<wide_shape>>(p, stream);
  else launch_short_too<small_shape, k_of_a<small_shape>, x_of_b<small_shape>>(p, stream);
}
} // namespace iso__tiles
