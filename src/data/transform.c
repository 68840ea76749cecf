/* transform.c: the way of a sample of any size: a rectangle (chosen at random as torchvision's RandomResizedCrop does,
 * Szegedy et al., "Going deeper with convolutions", 2015; or all of it, for a central window), resized, its colours
 * jittered, mirrored, normalised by the table. */
#include <limits.h>
#include "data/transform.h"
#include <isobit/numeric.h>
#include <math.h>
#include "base/fenv.h"

enum { N_ATTEMPTS = 10 };

static double unit(const iso__rendering *r, uint32_t epoch, uint32_t sample, uint32_t element) {
  return (iso__render_draw(r, ISO__PURPOSE_RESIZED_CROP, epoch, sample, element) >> 8) * 0x1p-24;
}
static int place_of(const iso__rendering *r, uint32_t epoch, uint32_t sample, uint32_t element, int n_places) {
  return (int)iso__word_below(iso__render_draw(r, ISO__PURPOSE_RESIZED_CROP, epoch, sample, element),
                              (uint32_t)n_places);
}

/* The largest part in the middle whose ratio is allowed. */
static iso__rect middle(const iso__transform_plan *t, int width, int height) {
  const double ratio = (double)width / height;
  iso__rect c = {.width = width, .height = height};
  if (ratio < t->ratio_low) c.height = (int)rint(width / t->ratio_low);
  if (ratio > t->ratio_high) c.width = (int)rint(height * t->ratio_high);
  if (c.width < 1) c.width = 1;
  if (c.height < 1) c.height = 1;
  c.x = (width - c.width) / 2, c.y = (height - c.height) / 2;
  return c;
}

iso__rect iso__random_crop(const iso__rendering *r, int width, int height, uint32_t epoch, uint32_t sample) {
  const iso__transform_plan *t = &r->transform;
  const double area = (double)width * height, low = iso_f64_log(t->ratio_low), high = iso_f64_log(t->ratio_high);
  for (uint32_t a = 0; a < N_ATTEMPTS; a++) {
    const double part = area * (t->scale_low + unit(r, epoch, sample, 4 * a) * (t->scale_high - t->scale_low));
    const double ratio = iso_f64_exp(low + unit(r, epoch, sample, 4 * a + 1) * (high - low));
    const double w = rint(sqrt(part * ratio)), h = rint(sqrt(part / ratio));
    if (!(w >= 1 && w <= width && h >= 1 && h <= height)) continue;
    iso__rect c = {.width = (int)w, .height = (int)h};
    c.y = place_of(r, epoch, sample, 4 * a + 2, height - c.height + 1);
    c.x = place_of(r, epoch, sample, 4 * a + 3, width - c.width + 1);
    return c;
  }
  return middle(t, width, height);
}

/* a·b/c, at most what two of fit into an int: pictures of such sides are refused when they are made. */
static int rounded(int64_t a, int64_t b, int64_t c) {
  const int64_t value = (2 * a * b + c) / (2 * c);
  return value > INT_MAX / 2 ? INT_MAX / 2 : (int)value;
}

/* All of the picture, its shorter side as `resize` says or as small as the window allows, and the central window. */
static void plan_central(const iso__rendering *r, int height, int width, iso__resizing *z) {
  const int w = z->from.width, h = z->from.height;
  if (r->transform.resize > 0) {
    const int shorter = rounded(r->transform.resize, height > width ? height : width, r->transform.largest);
    z->to_width = w <= h ? shorter : rounded(shorter, w, h);
    z->to_height = h <= w ? shorter : rounded(shorter, h, w);
  } else {
    z->to_width = width, z->to_height = height;
    if ((int64_t)width * h >= (int64_t)height * w) z->to_height = rounded(h, width, w);
    else z->to_width = rounded(w, height, h);
  }
  if (z->to_width < width) z->to_width = width;
  if (z->to_height < height) z->to_height = height;
  z->window.x = (z->to_width - width) / 2, z->window.y = (z->to_height - height) / 2;
}

static void normalise(const iso__rendering *r, const uint8_t *pixels, int height, int width, bool mirrored,
                      float *out) {
  const int n = r->channels;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const uint8_t *p = pixels + ((ptrdiff_t)y * width + (mirrored ? width - 1 - x : x)) * n;
      for (int c = 0; c < n; c++) *out++ = r->table[c * 256 + p[c]];
    }
}

/* Not inlined: nothing of it may move in front of the mode's change. */
static __attribute__((noinline)) bool shape_picture(const iso__rendering *r, iso__heap *heap,
                                                    const iso__picture *picture, iso__resizing *z, uint32_t epoch,
                                                    uint32_t sample, uint8_t *out) {
  if (r->transform.random_crop) z->from = iso__random_crop(r, picture->width, picture->height, epoch, sample);
  else plan_central(r, z->window.height, z->window.width, z);
  return iso__resize(heap, z, out);
}

bool iso__transform(const iso__rendering *r, iso__heap *heap, const iso__picture *picture, int height, int width,
                    uint32_t epoch, uint32_t sample, float *out) {
  const int64_t n_pixels = (int64_t)height * width;
  const size_t n_resized = (size_t)n_pixels * (size_t)picture->channels,
               n_bytes = (size_t)n_pixels * (size_t)r->channels;
  iso__resizing z = {.pixels = picture->pixels,
                     .width = picture->width,
                     .channels = picture->channels,
                     .from = {0, 0, picture->width, picture->height},
                     .to_width = width,
                     .to_height = height,
                     .window = {0, 0, width, height}};
  const bool converts = picture->channels != r->channels;
  uint8_t *resized = iso__heap_alloc(heap, n_resized, NULL),
          *pixels = converts ? iso__heap_alloc(heap, n_bytes, NULL) : resized;
  const iso__fenv saved = iso__fenv_enter();
  const bool ok = resized && pixels && shape_picture(r, heap, picture, &z, epoch, sample, resized);
  iso__fenv_leave(saved);
  if (ok) {
    if (converts) iso__convert_channels(resized, picture->channels, pixels, r->channels, n_pixels);
    const iso__jitter jitter = iso__jitter_of(r, epoch, sample);
    iso__jitter_apply(&jitter, pixels, n_pixels, r->channels);
    normalise(r, pixels, height, width, iso__render_mirrored(r, epoch, sample), out);
  }
  iso__heap_free(heap, resized, n_resized);
  if (converts) iso__heap_free(heap, pixels, n_bytes);
  return ok;
}
