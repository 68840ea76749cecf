/* render.c: augmentation moves whole pixels and normalisation is a table of 256 values a channel, so no image is ever
 * computed with: its bits cannot depend on who renders it, or in what floating-point mode. */
#include "data/render.h"
#include <isobit/numeric.h>
#include "base/fenv.h"

/* Not inlined: nothing of it may move in front of the mode's change. */
static __attribute__((noinline)) void fill_table(float *table, int channels, const double *mean, const double *std) {
  for (int c = 0; c < channels; c++)
    for (int v = 0; v < 256; v++)
      table[c * 256 + v] = (float)((v / 255.0 - (mean ? mean[c] : 0.0)) / (std ? std[c] : 1.0));
}

void iso__render_table(float *table, int channels, const double *mean, const double *std) {
  const iso__fenv saved = iso__fenv_enter();
  fill_table(table, channels, mean, std);
  iso__fenv_leave(saved);
}

uint32_t iso__render_draw(const iso__rendering *r, uint32_t purpose, uint32_t epoch, uint32_t sample,
                          uint32_t element) {
  const iso_philox at = {.seed = r->seed, .stream = ISO_PHILOX_LOADER, .site = purpose, .leaf = epoch, .step = sample};
  return iso_philox_word(&at, element);
}

bool iso__render_mirrored(const iso__rendering *r, uint32_t epoch, uint32_t sample) {
  return r->flip && iso__render_draw(r, ISO__PURPOSE_FLIP, epoch, sample, 0) >> 31;
}

/* Pixels [begin, end) of a row of zero pixels. */
static void render_nothing(const iso__rendering *r, int begin, int end, ptrdiff_t step, float *to) {
  for (int x = begin; x < end; x++)
    for (int c = 0; c < r->channels; c++) to[x * step + c] = r->table[c * 256];
}

/* One row of output: pixel x comes from row[x + shift], or mirrored; a NULL row and what lies outside are zero pixels.
 */
static void render_row(const iso__rendering *r, const uint8_t *row, int shift, bool mirrored, float *out) {
  const int n_channels = r->channels, width = r->width;
  const ptrdiff_t step = mirrored ? -n_channels : n_channels;
  float *to = mirrored ? out + (ptrdiff_t)(width - 1) * n_channels : out;
  const int begin = !row || shift >= width ? width : shift < 0 ? -shift : 0;
  const int end = !row || begin >= width ? width : shift > 0 ? width - shift : width;
  const float *table = r->table;
  render_nothing(r, 0, begin < width ? begin : width, step, to);
  if (n_channels == 1) {
    for (int x = begin; x < end; x++) to[x * step] = table[row[x + shift]];
  } else {
    for (int x = begin; x < end; x++)
      for (int c = 0; c < n_channels; c++)
        to[x * step + c] = table[c * 256 + row[(ptrdiff_t)(x + shift) * n_channels + c]];
  }
  render_nothing(r, end, width, step, to);
}

void iso__render(const iso__rendering *r, const uint8_t *pixels, uint32_t epoch, uint32_t sample, float *out) {
  const ptrdiff_t row_items = (ptrdiff_t)r->width * r->channels;
  int down = 0, right = 0;
  if (r->crop_padding > 0) {
    const uint32_t n_places = 2 * (uint32_t)r->crop_padding + 1;
    down = (int)iso__word_below(iso__render_draw(r, ISO__PURPOSE_CROP, epoch, sample, 0), n_places) - r->crop_padding;
    right = (int)iso__word_below(iso__render_draw(r, ISO__PURPOSE_CROP, epoch, sample, 1), n_places) - r->crop_padding;
  }
  const bool mirrored = iso__render_mirrored(r, epoch, sample);
  for (int y = 0; y < r->height; y++) {
    const int from = y + down;
    const uint8_t *row = from >= 0 && from < r->height ? pixels + from * row_items : NULL;
    render_row(r, row, right, mirrored, out + y * row_items);
  }
}
