/* planar.h: the data's gradient where the image has few channels, as first layers do.
 *
 * dx[(n,h,w)][c] has one to four columns, too few for a vector of channels. So positions fill the vectors: dy is
 * brought into the order (row, channel, column), some rows at a time, with real zeros round it; then a micro-tile is
 * c rows × a few vectors of neighbouring grid columns of one stride phase, and every k = (kernel row, kernel column,
 * output channel) is a vector load from the moved row and one broadcast weight a row. All phases read the same rows. */
#ifndef ISO_KERNELS_CONV_PLANAR_H
#define ISO_KERNELS_CONV_PLANAR_H
#include "kernels/conv/igemm.h"
#include "kernels/conv/lines.h"

enum { ISO__PLANAR_CHANNELS = 4, ISO__PLANAR_VECTORS = 8 };

/* c rows × n vectors of columns: sums of one micro-tile. */
typedef struct iso__planar_tile {
  const float *source;               /* (row, channel, column) at the tile's first column */
  const iso__conv_segment *segments; /* offsets from there; k counts through the phase's taps */
  int64_t n_segments;
  int64_t pitch;          /* floats between channels of the source */
  const float *weights;   /* (k, c) of the phase */
  float *sums;            /* (2, c, vectors) scratch */
  float *out;             /* (c, vectors): the result */
  iso__conv_lines *ahead; /* a step a segment */
} iso__planar_tile;

typedef struct iso__planar_tiles {
  int lanes;
  int vectors[ISO__PLANAR_CHANNELS + 1]; /* the most a tile of so many channels is wide */
  void (*tile[ISO__PLANAR_CHANNELS + 1][ISO__PLANAR_VECTORS + 1])(const iso__planar_tile *t);
  /* to[i·pitch + j] = from[j·n_channels + i]: n pixels, channels side by side, into rows of one channel. */
  void (*separate)(const float *from, int64_t n_channels, int64_t n, int64_t pitch, float *to);
} iso__planar_tiles;

extern const iso__planar_tiles iso__planar_tiles_avx2, iso__planar_tiles_avx512;
#endif
