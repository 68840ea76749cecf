/* bwd_weights.h: the weights' gradient of depthwise convolution, in place; class `ordered`: k = (sample, output row,
 * output column).
 *
 * Channels lie in the lanes. A *block* is up to 6 neighbouring positions of one output row that have the same taps
 * inside the image. Its micro-kernel walks the channels; for each vector it takes the sums of a group of taps (3 × 3,
 * 1 × 5, 1 × 7 …) from L1 into registers, and a column of x, once loaded, feeds every tap and position that meet there.
 * Sums waiting in L1 instead of registers costs a sixth more instructions, but leaves no chain longer than a block, and
 * memory is read in the order it lies, which strides of a power of two need. Taps in the padding are left out where dy
 * is finite, which is looked up for the positions concerned; else they multiply it by real zeros. After 256 positions
 * the sums fold. Threads share channels, or, where these are too few, panels of 1024 positions, whose sums wait in
 * slots and are added in order.
 *
 * With a few channels a group, as many out as in, every channel of x of the group has sums of its own: the channel is
 * spread over the group's lanes on its way (spread_impl.h), and all else is the same. */
#ifndef ISO_KERNELS_CONV_DEPTHWISE_BWD_WEIGHTS_H
#define ISO_KERNELS_CONV_DEPTHWISE_BWD_WEIGHTS_H
#include "kernels/conv/depthwise/depthwise.h"

enum { ISO__DW_BLOCK = 6, ISO__DW_GROUP_ROWS = 3, ISO__DW_GROUP_TAPS = 7 };

/* Positions, and the first tap of a group. All steps are in floats. */
typedef struct iso__dw_block {
  const float *x, *dy;                     /* at the first position, x at the group's first tap; channel 0 */
  int64_t x_row, x_tap, x_pixel, dy_pixel; /* between kernel rows, kernel columns, positions */
  float *sums;                             /* at the group's first tap, vector 0 */
  int64_t sums_row, sums_tap, sums_vector; /* between kernel rows, kernel columns, channel vectors */
  int64_t n_vectors, last; /* channel vectors; the channel that the last one begins at, to end with the channels */
  int depth, channel;      /* of a group: how many channels of x, and which one this is about */
} iso__dw_block;

typedef void iso__dw_block_fn(const iso__dw_block *block);

typedef struct iso__dw_summers {
  int width; /* lanes */
  /* By rows − 1, taps − 1 (NULL: no such group), how many taps apart positions are (1, 2; a single tap: any), and
   * positions − 1. */
  iso__dw_block_fn *group[ISO__DW_GROUP_ROWS][ISO__DW_GROUP_TAPS][2][ISO__DW_BLOCK];
  /* One position, one tap that lies in the padding. */
  void (*add_zero)(const iso__dw_block *block);
  bool (*is_finite)(const float *x, int64_t n);
  /* to = (first ? +0 : to) + from, from = +0 */
  void (*fold)(float *to, float *from, int64_t n, bool first);
} iso__dw_summers;
extern const iso__dw_summers iso__dw_summers_avx2, iso__dw_summers_avx512; /* one channel a group */
extern const iso__dw_summers iso__grouped_summers_avx2, iso__grouped_summers_avx512;

const char *iso__dw_bwd_weights_applicable(const iso__dw_summers *summers, const iso_conv_problem *problem);
const char *iso__grouped_bwd_weights_applicable(const iso__dw_summers *summers, const iso_conv_problem *problem);
size_t iso__dw_bwd_weights_workspace(const iso__dw_summers *summers, const iso_conv_problem *problem, int n_threads);
double iso__dw_bwd_weights_cost(const iso__dw_summers *summers, const iso_conv_problem *problem, int n_threads);
void iso__dw_bwd_weights_run(const iso__dw_summers *summers, const iso__call *call);
#endif
