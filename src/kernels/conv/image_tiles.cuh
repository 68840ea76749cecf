/* image_tiles.cuh: the product kernels with an image as an operand, by what their loaders need. */
#ifndef ISO_KERNELS_CONV_IMAGE_TILES_CUH
#define ISO_KERNELS_CONV_IMAGE_TILES_CUH
#include "kernels/gemm/tile_params.cuh"

namespace iso__tiles {
/* A is an image whose rows are positions; B lies (k, n), 16-byte aligned rows. `vectors`: channels are neighbours, in
 * aligned fours, and there are at most max_fast_taps taps. */
void launch_image_rows(const params &p, bool vectors, tile_shape shape, cudaStream_t stream);
/* A lies (k, m); B is an image whose columns are (tap, channel) pairs. */
void launch_image_columns(const params &p, bool vectors_a, bool vectors_b, tile_shape shape, cudaStream_t stream);

/* Weights (depth, taps of all, width) of one product of bwd_data, for every group: to[g][(tap, channel)][column]. */
struct packing {
  const float *from;
  float *to;
  int64_t n_groups, depth, width, width_pitch, stride_channel, stride_group;
  int n_taps[3], first[3], step[3], all[3]; /* tap j of an axis is first + j·step of `all` */
};
void pack(const packing &k, cudaStream_t stream);
} // namespace iso__tiles
#endif
