/* transform.h: an image of any size as the model sees it: cropped, resized, jittered, mirrored, normalised. */
#ifndef ISO_DATA_TRANSFORM_H
#define ISO_DATA_TRANSFORM_H
#include "data/render.h"
#include "data/resize.h"

/* A decoded image. */
typedef struct iso__picture {
  const uint8_t *pixels; /* (height,width,channels) */
  int width, height, channels;
} iso__picture;

/* One sample into out (height,width,channels of r), by r->transform. False: no memory. */
bool iso__transform(const iso__rendering *r, iso__heap *heap, const iso__picture *picture, int height, int width,
                    uint32_t epoch, uint32_t sample, float *out);

/* Where a sample's random part begins and how large it is. */
iso__rect iso__random_crop(const iso__rendering *r, int width, int height, uint32_t epoch, uint32_t sample);
/* Brightness, contrast, saturation, hue, in this order; factors are 16.16 fixed-point numbers, hue 65536 a sixth of the
 * circle. */
typedef struct iso__jitter {
  int32_t brightness, contrast, saturation, hue;
} iso__jitter;
iso__jitter iso__jitter_of(const iso__rendering *r, uint32_t epoch, uint32_t sample);
void iso__jitter_apply(const iso__jitter *j, uint8_t *pixels, int64_t n_pixels, int channels);
/* gray (1 channel) ↔ RGB (3): copies, or luma. */
void iso__convert_channels(const uint8_t *from, int n_from, uint8_t *to, int n_to, int64_t n_pixels);
#endif
