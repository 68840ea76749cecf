/* cuda_cut.h: what the cuts of transformed convolutions (Winograd's, FFT's) into slices for a CUDA device share. */
#ifndef ISO_KERNELS_CONV_CUDA_CUT_H
#define ISO_KERNELS_CONV_CUDA_CUT_H
#include "kernels/conv/conv.h"
#include "kernels/sizes.h"

enum {
  ISO__CUT_BYTES = 256 << 20, /* of a slice's operands and sums; a slice has a chunk of tiles at least */
  ISO__CUT_GRID = 65535,      /* blocks along y and z */
  ISO__CUT_EXTENT = 1 << 28,
};

/* Extents and the numbers inside an image are 32-bit numbers on the device; NULL, or what is beyond. */
static inline const char *iso__cut_extents(const iso_conv_problem *p) {
  const int64_t y_h = iso__conv_out_h(p), y_w = iso__conv_out_w(p);
  const int64_t extents[] = {p->h, p->w, y_h, y_w, p->pad_top, p->pad_left};
  for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++)
    if (extents[i] > ISO__CUT_EXTENT) return "an extent is beyond 2^28";
  return iso__max(p->h * p->w, y_h * y_w) > ISO__CUT_EXTENT ? "an image has more than 2^28 pixels" : NULL;
}
/* Elements of the longer of x's and y's rows of pixels. */
static inline int64_t iso__cut_row(const iso_conv_problem *p) {
  return iso__max(p->w * p->c, iso__conv_out_w(p) * p->k);
}

/* The next `floats` of a workspace, from a multiple of 64; *at moves on. */
static inline size_t iso__cut_take(size_t *at, int64_t floats) {
  const size_t begin = *at;
  *at += (size_t)iso__round_up(floats, 64);
  return begin;
}

/* Equal slices of at most `most` tiles, in whole `unit`s. */
static inline int iso__cut_slice(int64_t tiles, int64_t most, int64_t unit) {
  most = iso__max(most / unit * unit, unit);
  if (tiles <= most) return (int)iso__max(tiles, 1);
  return (int)iso__round_up(iso__ceil_div(tiles, iso__ceil_div(tiles, most)), unit);
}
#endif
