/* jitter.c: colour jitter in integers: no bit depends on a floating-point mode. Luma is ITU-R BT.601's,
 * (19595·R + 38470·G + 7471·B + 2^15) >> 16. Hue turns in the hexagon of HSV. */
#include <isobit/numeric.h>
#include "data/transform.h"

enum { ONE = 1 << 16, HALF = 1 << 15, CIRCLE = 6 * ONE };

static inline int luma(const uint8_t *p) { return (19595 * p[0] + 38470 * p[1] + 7471 * p[2] + HALF) >> 16; }
/* base + factor·(v − base), rounded and clipped. */
static inline uint8_t blend(int v, int base, int32_t factor) {
  const int64_t x = base + (((int64_t)(v - base) * factor + HALF) >> 16);
  return x < 0 ? 0 : x > 255 ? 255 : (uint8_t)x;
}

static int mean_luma(const uint8_t *pixels, int64_t n_pixels, int channels) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n_pixels; i++) sum += channels == 3 ? luma(pixels + 3 * i) : pixels[i];
  return (int)((2 * sum + n_pixels) / (2 * n_pixels));
}

/* Turns one pixel's hue. */
static void turn(uint8_t *p, int32_t hue) {
  const int r = p[0], g = p[1], b = p[2];
  const int high = r > g ? (r > b ? r : b) : g > b ? g : b, low = r < g ? (r < b ? r : b) : g < b ? g : b;
  const int spread = high - low;
  if (spread == 0) return;
  int64_t h = high == r   ? (int64_t)(g - b) * ONE / spread
              : high == g ? 2 * ONE + (int64_t)(b - r) * ONE / spread
                          : 4 * ONE + (int64_t)(r - g) * ONE / spread;
  h = (h + hue + 2 * CIRCLE) % CIRCLE;
  const int sector = (int)(h >> 16), part = (int)(((h & (ONE - 1)) * spread + HALF) >> 16);
  const uint8_t v = (uint8_t)high, m = (uint8_t)low, up = (uint8_t)(low + part), down = (uint8_t)(high - part);
  const uint8_t table[6][3] = {{v, up, m}, {down, v, m}, {m, v, up}, {m, down, v}, {up, m, v}, {v, m, down}};
  for (int c = 0; c < 3; c++) p[c] = table[sector][c];
}

void iso__jitter_apply(const iso__jitter *j, uint8_t *pixels, int64_t n_pixels, int channels) {
  const int64_t n = n_pixels * channels;
  if (j->brightness != ONE)
    for (int64_t i = 0; i < n; i++) pixels[i] = blend(pixels[i], 0, j->brightness);
  if (j->contrast != ONE) {
    const int mean = mean_luma(pixels, n_pixels, channels);
    for (int64_t i = 0; i < n; i++) pixels[i] = blend(pixels[i], mean, j->contrast);
  }
  if (channels != 3) return;
  if (j->saturation != ONE)
    for (int64_t i = 0; i < n_pixels; i++) {
      const int gray = luma(pixels + 3 * i);
      for (int c = 0; c < 3; c++) pixels[3 * i + c] = blend(pixels[3 * i + c], gray, j->saturation);
    }
  if (j->hue != 0)
    for (int64_t i = 0; i < n_pixels; i++) turn(pixels + 3 * i, j->hue);
}

/* A factor in [max(0, 1 − amount), 1 + amount], by word `element`. */
static int32_t factor(const iso__rendering *r, uint32_t epoch, uint32_t sample, uint32_t element, int32_t amount) {
  const int32_t low = amount < ONE ? ONE - amount : 0;
  const uint32_t word = iso__render_draw(r, ISO__PURPOSE_JITTER, epoch, sample, element);
  return low + (int32_t)iso__word_below(word, (uint32_t)(ONE + amount - low) + 1);
}
iso__jitter iso__jitter_of(const iso__rendering *r, uint32_t epoch, uint32_t sample) {
  const iso__transform_plan *t = &r->transform;
  const uint32_t word = iso__render_draw(r, ISO__PURPOSE_JITTER, epoch, sample, 3);
  return (iso__jitter){.brightness = factor(r, epoch, sample, 0, t->brightness),
                       .contrast = factor(r, epoch, sample, 1, t->contrast),
                       .saturation = factor(r, epoch, sample, 2, t->saturation),
                       .hue = (int32_t)iso__word_below(word, 2 * (uint32_t)t->hue + 1) - t->hue};
}

void iso__convert_channels(const uint8_t *from, int n_from, uint8_t *to, int n_to, int64_t n_pixels) {
  for (int64_t i = 0; i < n_pixels; i++, from += n_from, to += n_to)
    for (int c = 0; c < n_to; c++) to[c] = n_from == 1 ? from[0] : (uint8_t)luma(from);
}
