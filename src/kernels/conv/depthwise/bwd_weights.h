/* bwd_weights.h: the weights' gradient of depthwise convolution, in place; class `ordered`: k = (sample, output row,
 * output column).
 *
 * Channels lie in the lanes and a tile of taps (3 × 3, 2 × 5, 1 × 7 …) in registers: every tap of the tile is one chain
 * that a position extends by dy·x, and a column of x that is loaded feeds all taps and positions that meet there.
 * Positions come as *segments*, rows of output cut where a chunk ends; after 256 positions the sums fold. Taps in the
 * padding multiply dy by real zeros, so nothing need be known about dy. Threads share channels, or, where these are too
 * few, panels of 1024 positions, whose sums wait in slots and are added in order. */
#ifndef ISO_KERNELS_CONV_DEPTHWISE_BWD_WEIGHTS_H
#define ISO_KERNELS_CONV_DEPTHWISE_BWD_WEIGHTS_H
#include "kernels/conv/depthwise/depthwise.h"

enum { ISO__DW_TILE_ROWS = 3, ISO__DW_TILE_TAPS = 7, ISO__DW_TILE = 10 /* chains of a tile */ };

/* Neighbouring positions of one output row. */
typedef struct iso__dw_segment {
  int64_t x, dy;              /* offsets of kernel tap (0, 0) and of the first position, channel 0 */
  int64_t column;             /* of the image, of tap 0 at the first position */
  int32_t n;                  /* positions */
  int32_t inside, inside_end; /* those all of whose columns are inside */
  iso__conv_range rows;       /* kernel rows inside */
} iso__dw_segment;

typedef struct iso__dw_sums {
  const float *x, *dy;
  int64_t x_row, x_tap, x_pixel, dy_pixel; /* floats between kernel rows, kernel columns, positions */
  int64_t tap_step, pixel_step, width;     /* the image's columns between taps, between positions, in all */
  const iso__dw_segment *segments;
  int n_segments;
  int64_t first_vector, end_vector, n_channels; /* the last vector of all may overlap the one before */
  int64_t n_rows, n_taps;                       /* the kernel's */
  float *sums;                                  /* [vector − first_vector][n_rows][n_taps][width] */
} iso__dw_sums;

/* Adds all segments to the tile of taps that begins at (row, tap). */
typedef void iso__dw_sums_fn(const iso__dw_sums *sums, int64_t row, int64_t tap);

typedef struct iso__dw_summers {
  int width; /* lanes */
  /* By rows − 1, taps − 1, and how many taps apart positions are (0: no whole number of them, or more than 2). */
  iso__dw_sums_fn *tile[ISO__DW_TILE_ROWS][ISO__DW_TILE_TAPS][3];
  /* to = (to or +0) + from, from = +0 */
  void (*fold)(float *to, float *from, int64_t n, bool first);
} iso__dw_summers;
extern const iso__dw_summers iso__dw_summers_avx2, iso__dw_summers_avx512;

const char *iso__dw_bwd_weights_applicable(const iso__dw_summers *summers, const iso_conv_problem *problem);
size_t iso__dw_bwd_weights_workspace(const iso__dw_summers *summers, const iso_conv_problem *problem, int n_threads);
double iso__dw_bwd_weights_cost(const iso__dw_summers *summers, const iso_conv_problem *problem, int n_threads);
void iso__dw_bwd_weights_run(const iso__dw_summers *summers, const iso__call *call);
#endif
