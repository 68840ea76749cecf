/* buckets.c: length-bucketed batches. Groups of the epoch's permutation are sorted by length and cut into batches,
 * which are shuffled: texts meet others of their length, but other ones each epoch, and an epoch does not go from short
 * to long. All of it is a function of (seed, epoch) and the lengths, so a loader needs no more state than its position.
 */
#include "text/buckets.h"
#include <isobit/numeric.h>
#include <stdlib.h>
#include "data/dataset.h"

static size_t samples_bytes(const iso__buckets *b) { return (size_t)b->n_samples * sizeof *b->samples; }
static size_t batches_bytes(const iso__buckets *b) { return (size_t)b->n_batches * sizeof *b->batches; }
static size_t permutation_bytes(const iso__buckets *b) { return (size_t)b->n_samples * sizeof *b->permutation; }
static size_t keys_bytes(const iso__buckets *b) { return (size_t)b->group * sizeof *b->keys; }

bool iso__buckets_start(iso__buckets *b) {
  return (b->samples = iso__alloc(b->ctx, samples_bytes(b))) && (b->batches = iso__alloc(b->ctx, batches_bytes(b))) &&
         (b->permutation = iso__alloc(b->ctx, permutation_bytes(b))) &&
         (b->scratch = iso__alloc(b->ctx, 2 * permutation_bytes(b))) && (b->keys = iso__alloc(b->ctx, keys_bytes(b)));
}

void iso__buckets_end(iso__buckets *b) {
  if (!b->ctx) return; /* never started */
  iso__free(b->ctx, b->samples, samples_bytes(b));
  iso__free(b->ctx, b->batches, batches_bytes(b));
  iso__free(b->ctx, b->permutation, permutation_bytes(b));
  iso__free(b->ctx, b->scratch, 2 * permutation_bytes(b));
  iso__free(b->ctx, b->keys, keys_bytes(b));
}

static void permute(iso__buckets *b, uint32_t purpose, uint32_t epoch, int64_t n, int64_t *out) {
  const iso_philox at = {.seed = b->seed, .stream = ISO_PHILOX_LOADER, .site = purpose, .leaf = epoch};
  if (b->shuffle) iso_philox_permutation(&at, (uint64_t)n, out, b->scratch);
  else
    for (int64_t i = 0; i < n; i++) out[i] = i;
}

static int by_key(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static int64_t length_of(const iso__buckets *b, int64_t sample) { return b->begin[sample + 1] - b->begin[sample]; }

/* Stable, though qsort is not: no two keys are equal, and of one length the earlier is smaller. Lengths beyond 2³²
 * count as that. */
static void sort_group(iso__buckets *b, int64_t first, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const int64_t length = length_of(b, b->permutation[first + i]);
    b->keys[i] = (uint64_t)(length < UINT32_MAX ? length : UINT32_MAX) << 32 | (uint64_t)i;
  }
  qsort(b->keys, (size_t)n, sizeof *b->keys, by_key);
  for (int64_t i = 0; i < n; i++)
    b->samples[first + i] = (uint32_t)b->permutation[first + (int64_t)(uint32_t)b->keys[i]];
}

/* What drop_last drops is the permutation's end, not the longest texts of a group. */
static void arrange(iso__buckets *b, uint32_t epoch) {
  permute(b, ISO__PURPOSE_ORDER, epoch, b->n_samples, b->permutation);
  for (int64_t first = 0; first < b->n_kept; first += b->group) {
    const int64_t n = b->n_kept - first < b->group ? b->n_kept - first : b->group;
    if (b->group > b->batch_size) sort_group(b, first, n);
    else
      for (int64_t i = first; i < first + n; i++) b->samples[i] = (uint32_t)b->permutation[i];
  }
  permute(b, ISO__PURPOSE_BATCHES, epoch, b->n_batches, b->batches);
  b->known = true, b->epoch = epoch;
}

iso__bucket iso__buckets_batch(iso__buckets *b, uint32_t epoch, int64_t batch) {
  if (!b->known || b->epoch != epoch) arrange(b, epoch);
  const int64_t first = b->batches[batch] * b->batch_size, n_left = b->n_kept - first;
  iso__bucket out = {.samples = b->samples + first, .n = n_left < b->batch_size ? n_left : b->batch_size};
  for (int64_t i = 0; i < out.n; i++) {
    const int64_t length = length_of(b, out.samples[i]);
    if (length > out.longest) out.longest = length;
  }
  return out;
}
