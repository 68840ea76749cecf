/* render.h: one image as the model sees it: cropped, mirrored, normalised, in f32. */
#ifndef ISO_DATA_RENDER_H
#define ISO_DATA_RENDER_H
#include "data/dataset.h"

/* iso_image_transform in the numbers that rendering uses; fixed-point ones are 16.16. */
typedef struct iso__transform_plan {
  int resize,
      largest; /* shorter side (0: as small as the window allows), where the window's longer side is `largest` */
  bool random_crop;
  double scale_low, scale_high, ratio_low, ratio_high;
  int32_t brightness, contrast, saturation, hue; /* hue: 65536 is a sixth of the circle */
} iso__transform_plan;

typedef struct iso__rendering {
  int channels, height, width, crop_padding;
  bool flip;
  bool transforms; /* images go through `transform` (transform.h), not iso__render */
  iso__transform_plan transform;
  uint64_t seed;
  float *table; /* (channels, 256): what each pixel value becomes */
} iso__rendering;

/* table[c][v] = (v/255 − mean[c])/std[c], in f64 and rounded once; NULL: 0 and 1. */
void iso__render_table(float *table, int channels, const double *mean, const double *std);
/* pixels (H,W,C) to out (H,W,C). Depends on nothing but its arguments. */
void iso__render(const iso__rendering *r, const uint8_t *pixels, uint32_t epoch, uint32_t sample, float *out);

/* A word of the sample's, and whether it is mirrored. */
uint32_t iso__render_draw(const iso__rendering *r, uint32_t purpose, uint32_t epoch, uint32_t sample, uint32_t element);
bool iso__render_mirrored(const iso__rendering *r, uint32_t epoch, uint32_t sample);

#endif
