/* render.h: one image as the model sees it: cropped, mirrored, normalised, in f32. */
#ifndef ISO_DATA_RENDER_H
#define ISO_DATA_RENDER_H
#include "data/dataset.h"

typedef struct iso__rendering {
  int channels, height, width, crop_padding;
  bool flip;
  uint64_t seed;
  float *table; /* (channels, 256): what each pixel value becomes */
} iso__rendering;

/* table[c][v] = (v/255 − mean[c])/std[c], in f64 and rounded once; NULL: 0 and 1. */
void iso__render_table(float *table, int channels, const double *mean, const double *std);
/* pixels (H,W,C) to out (H,W,C). Depends on nothing but its arguments. */
void iso__render(const iso__rendering *r, const uint8_t *pixels, uint32_t epoch, uint32_t sample, float *out);

#endif
