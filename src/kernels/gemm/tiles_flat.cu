/* tiles_flat.cu: products of up to 32 rows in tiles of 32×128, a chunk of K a block: B streams through shared memory
 * with enough in flight for memory's speed, and no row of the tile is wasted. */
#include "kernels/gemm/gemm_tiles.cuh"
#include "kernels/gemm/tile_loaders.cuh"

namespace iso__tiles {
using S = shape<32, 128, 4>;
using rows_of_a = k_vectors<S::rows, S::threads>;

void launch_flat(const params &p, bool b_by_n, cudaStream_t stream) {
  if (b_by_n) launch_all<S, rows_of_a, x_vectors<S::columns, S::threads>, true>(p, stream);
  else launch_all<S, rows_of_a, k_vectors<S::columns, S::threads>, true>(p, stream);
}
} // namespace iso__tiles
