/* buckets.h: which texts make a batch, so that those of a batch are of about one length. */
#ifndef ISO_TEXT_BUCKETS_H
#define ISO_TEXT_BUCKETS_H
#include "base/context.h"

/* The arrangement of one epoch at a time. Block j of samples holds [j·batch_size, …); batch b is block batches[b]. */
typedef struct iso__buckets {
  iso_context *ctx;
  const int64_t *begin; /* (n_samples + 1): sample i has length begin[i + 1] - begin[i] */
  int64_t n_samples, n_kept, batch_size, n_batches;
  int64_t group; /* samples that are sorted together */
  bool shuffle;
  uint64_t seed;
  bool known; /* samples and batches are those of `epoch` */
  uint32_t epoch;
  uint32_t *samples;              /* (n_samples) */
  int64_t *batches;               /* (n_batches) */
  int64_t *permutation, *scratch; /* (n_samples), (2 n_samples) */
  uint64_t *keys;                 /* (group) */
} iso__buckets;

/* Sizes and `begin` are filled in. False: the context's error is set; end in any case. */
bool iso__buckets_start(iso__buckets *b);
void iso__buckets_end(iso__buckets *b);

typedef struct iso__bucket {
  const uint32_t *samples; /* (n), ascending by length; until another epoch is asked for */
  int64_t n, longest;
} iso__bucket;
/* Batch `batch` of an epoch. */
iso__bucket iso__buckets_batch(iso__buckets *b, uint32_t epoch, int64_t batch);
#endif
