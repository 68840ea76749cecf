/* synthetic.c: a data set without files, for benchmarks and tests: each pixel is the mean of its class's random pattern
 * and noise, both whole numbers from Philox by (class or sample, pixel), so any machine makes the same one. */
#include <isobit/numeric.h>
#include "data/dataset.h"

typedef struct workspace {
  int64_t n_pixels, n_words; /* of an image */
  uint32_t *patterns;        /* (n_classes, n_words) */
  uint32_t *noise;           /* (n_words) */
} workspace;

static void fill(uint64_t seed, uint32_t purpose, uint32_t step, uint32_t *words, int64_t n_words) {
  const iso_philox at = {.seed = seed, .stream = ISO_PHILOX_LOADER, .site = purpose, .step = step};
  iso_philox_words(&at, 0, (uint64_t)n_words, words);
}

/* Bytes of the words, low byte first. */
static inline int byte_at(const uint32_t *words, int64_t i) { return words[i >> 2] >> 8 * (i & 3) & 0xff; }

static void make(const iso_synthetic_options *o, const workspace *w, uint8_t *pixels, int32_t *labels) {
  const int64_t plane = (int64_t)o->height * o->width;
  for (int k = 0; k < o->n_classes; k++)
    fill(o->seed, ISO__PURPOSE_PATTERN, (uint32_t)k, w->patterns + k * w->n_words, w->n_words);
  for (int64_t i = 0; i < o->n_samples; i++) {
    uint32_t word;
    const uint32_t sample = (uint32_t)(o->first_sample + i);
    fill(o->seed, ISO__PURPOSE_LABEL, sample, &word, 1);
    labels[i] = (int32_t)iso__word_below(word, (uint32_t)o->n_classes);
    fill(o->seed, ISO__PURPOSE_NOISE, sample, w->noise, w->n_words);
    const uint32_t *pattern = w->patterns + labels[i] * w->n_words;
    uint8_t *image = pixels + i * w->n_pixels; /* (H,W,C), drawn as (C,H,W) */
    for (int64_t p = 0; p < w->n_pixels; p++)
      image[p % plane * o->channels + p / plane] = (uint8_t)((byte_at(pattern, p) + byte_at(w->noise, p)) / 2);
  }
}

static iso_synthetic_options with_defaults(const iso_synthetic_options *options) {
  iso_synthetic_options o = options ? *options : (iso_synthetic_options){0};
  if (o.n_samples == 0) o.n_samples = 1024;
  if (o.channels == 0) o.channels = 3;
  if (o.height == 0) o.height = 32;
  if (o.width == 0) o.width = 32;
  if (o.n_classes == 0) o.n_classes = 10;
  return o;
}

iso_dataset *iso_dataset_synthetic(iso_context *ctx, const iso_synthetic_options *options) {
  const iso_synthetic_options o = with_defaults(options);
  const int64_t shape[4] = {o.n_samples, o.channels, o.height, o.width};
  const int64_t pattern_shape[4] = {o.n_classes, o.channels, o.height, o.width};
  int64_t n_all, n_patterns;
  char text[200];
  if (iso__failed(ctx)) return NULL;
  if (o.n_classes < 0 || o.first_sample < 0 || o.first_sample > (int64_t)UINT32_MAX ||
      o.n_samples > (int64_t)UINT32_MAX - o.first_sample || !iso__shape_numel(4, shape, 1, &n_all) ||
      !iso__shape_numel(4, pattern_shape, 8, &n_patterns))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "dataset_synthetic",
                     "images %s of %d classes from sample %lld on cannot be made",
                     iso__shape_text(4, shape, text, sizeof text), o.n_classes, (long long)o.first_sample),
           NULL;
  workspace w = {.n_pixels = n_all / o.n_samples};
  w.n_words = (w.n_pixels + 3) / 4;
  const size_t noise_bytes = (size_t)w.n_words * sizeof(uint32_t), pattern_bytes = noise_bytes * (size_t)o.n_classes;
  iso_tensor *images = iso_tensor_new_channels_last(ctx, ISO_U8, 4, shape),
             *labels = iso_tensor_new(ctx, ISO_I32, 1, shape);
  w.patterns = iso__alloc(ctx, pattern_bytes), w.noise = iso__alloc(ctx, noise_bytes);
  iso_dataset *set = NULL;
  if (images && labels && w.patterns && w.noise) {
    make(&o, &w, iso_tensor_data(images), iso_tensor_data(labels));
    set = iso__dataset_make(ctx, images, "dataset_synthetic", labels, "dataset_synthetic", o.n_classes);
  }
  iso__free(ctx, w.patterns, pattern_bytes);
  iso__free(ctx, w.noise, noise_bytes);
  iso_release(images);
  iso_release(labels);
  return set;
}
