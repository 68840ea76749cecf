/* box.h: boxes of grid positions: the part of the source that an implicit product reads at a time.
 *
 * A box is copied with real zeros round it (or read in place where no tap leaves the image), its micro-tiles' rows are
 * listed, and while it is computed the next box's part of the image is called into the cache. */
#ifndef ISO_KERNELS_CONV_BOX_H
#define ISO_KERNELS_CONV_BOX_H
#include "kernels/conv/geometry.h"

/* Extents of a full box; of no effect on bits. */
typedef struct iso__conv_boxing {
  int64_t samples, planes, rows, cols;       /* of a full box */
  int64_t n_sample, n_plane, n_row, n_col;   /* boxes along each */
  int64_t positions;                         /* of a full box, rounded up to whole tiles */
  int64_t span_planes, span_rows, span_cols; /* of a full box's padded copy */
  int64_t buffer_floats;                     /* 0: the image is read in place */
  bool in_place, samples_innermost;
} iso__conv_boxing;

/* Boxes of at most about `most_positions` positions and `most_bytes` of source. */
iso__conv_boxing iso__conv_boxing_of(const iso__conv_tiles *tiles, const iso__conv_product *g, int64_t most_positions,
                                     int64_t most_bytes);
static inline int64_t iso__conv_n_boxes(const iso__conv_boxing *b) {
  return b->n_sample * b->n_plane * b->n_row * b->n_col;
}

/* Samples [n0, n1) and grid positions [o0, o1) × [t0, t1) × [u0, u1) of one group. */
typedef struct iso__conv_box {
  int64_t n0, n1, o0, o1, t0, t1, u0, u1, group;
} iso__conv_box;
iso__conv_box iso__conv_box_at(const iso__conv_product *g, const iso__conv_boxing *b, int64_t index, int64_t group);

/* Where addresses count from: the image in place or the padded copy. */
typedef struct iso__conv_view {
  const float *base;
  int64_t sample, plane, row, pixel; /* floats between them */
} iso__conv_view;
/* Copies the box into `buffer` unless it is read in place. */
iso__conv_view iso__conv_view_of(const iso__conv_tiles *tiles, const iso__conv_product *g, const iso__conv_boxing *b,
                                 const iso__conv_box *x, const float *source, float *buffer);

/* The taps that some row of a micro-tile finds inside the image. */
typedef struct iso__conv_tile_taps {
  iso__conv_range plane, row, col;
} iso__conv_tile_taps;

/* Row lists of a box's micro-tiles, in memory of the caller's (positions, positions, positions / mr). */
typedef struct iso__conv_rows {
  int64_t *row_offset, *out_offset;
  iso__conv_tile_taps *taps; /* NULL: not asked for */
  int64_t n;
} iso__conv_rows;
/* Each axis' taps inside the image, by grid position. */
typedef struct iso__conv_axis_taps {
  const iso__conv_range *plane, *row, *col;
} iso__conv_axis_taps;
void iso__conv_rows_list(const iso__conv_tiles *tiles, const iso__conv_product *g, const iso__conv_boxing *b,
                         const iso__conv_axis_taps *axis_taps, const iso__conv_box *x, const iso__conv_view *v,
                         iso__conv_rows *list);

/* Runs over the lines of a box's part of the image, a few at a time. */
enum { ISO__CONV_AHEAD_AXES = 4 }; /* row, plane, channel (of channels-first images), sample */
typedef struct iso__conv_ahead {
  const char *at;
  int64_t line, lines; /* of the row of pixels that `at` begins */
  int64_t count[ISO__CONV_AHEAD_AXES], pitch[ISO__CONV_AHEAD_AXES], index[ISO__CONV_AHEAD_AXES];
  int64_t step; /* lines at a time; 0: nothing (any more) */
} iso__conv_ahead;
/* To be passed in about n_steps steps. */
iso__conv_ahead iso__conv_ahead_of(const iso__conv_product *g, const iso__conv_box *x, const float *source,
                                   int64_t n_steps);
void iso__conv_ahead_step(iso__conv_ahead *a, int64_t n_steps);
#endif
