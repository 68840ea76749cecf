/* cut.h: how a Winograd problem is cut for a CUDA device: geometry, slices, workspace. Plain C, of no effect on bits.
 *
 * Three steps, each a kernel over all points t of a transformed tile: transform the operands, multiply, transform back.
 * A slice is as many tiles as fit the workspace's cap (all of them up to about 64 images of usual layers), a slab as
 * many groups as a grid can count. In floats, tiles and channels padded to whole float4 (T, K, C):
 *
 *   forward, backward to the data        u (group, t, c, K)   kernel; of all groups: what is kept
 *                                        v (group, t, c, T)   a slice's source, turned so that products read along
 * tiles m (chunk of c, group, t, T, K)   sums of chunks, folded by the output transform backward to the weights v
 * (group, t, tile, C), z (group, t, tile, K)   a slice of x and of dy d (chunk of tiles, group, t, K, C)   sums of the
 * slice's chunks panel, total (group, t, K, C)   what the slices before left
 *
 * A chunk's sum stands in its own slot, so that chunks are independent work; whoever reads slots folds them in order.
 */
#ifndef ISO_KERNELS_CONV_WINOGRAD_CUDA_CUT_H
#define ISO_KERNELS_CONV_WINOGRAD_CUDA_CUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tensor as tiles see it: pixels of `pitch` channels; tile (0, 0) begins at (offset_h, offset_w). */
typedef struct iso__wino_cuda_image {
  int h, w, pitch, offset_h, offset_w;
} iso__wino_cuda_image;

typedef struct iso__wino_cuda_cut {
  int m, r, points;
  int groups, c, k; /* channels of a group: of the source (x) and of the result (forward: y; weights: dy) */
  int c_pad, k_pad; /* in whole float4 */
  bool turned;      /* backward to the data: kernel turned, its channels swapped */
  iso__wino_cuda_image source, result; /* weights: x and dy */
  int tiles_h, tiles_w;
  int64_t tiles;
  int slab, slice;                      /* groups and tiles at once */
  int slots;                            /* chunks of a product in a slice, at least 1 */
  size_t u, v, m_or_z, d, panel, total; /* offsets in the workspace, in floats */
  size_t u_floats, floats;
} iso__wino_cuda_cut;

/* Forward and backward to the data (m outputs of a tile along an axis), and backward to the weights. */
struct iso_conv_problem;
#ifdef __cplusplus
extern "C" {
#endif
iso__wino_cuda_cut iso__wino_cuda_cut_images(const struct iso_conv_problem *p, int m);
iso__wino_cuda_cut iso__wino_cuda_cut_weights(const struct iso_conv_problem *p, int m);
#ifdef __cplusplus
}
#endif
#endif
