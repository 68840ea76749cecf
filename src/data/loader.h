/* loader.h: which samples a batch of images holds (order.c). */
#ifndef ISO_DATA_LOADER_H
#define ISO_DATA_LOADER_H
#include "data/feed.h"
#include "data/transform.h"

typedef struct iso__order {
  int64_t n_samples, batch_size, n_batches;
  bool shuffle;
  uint64_t seed;
  int n_leaves, leaf_begin, leaf_end;
  int64_t *permutation, *scratch; /* (N), (2N): NULL without shuffle */
  bool known;                     /* permutation is that of `epoch` */
  uint32_t epoch;
} iso__order;

/* Batch `batch` of an epoch: which of the epoch's places [*begin, *end) it gives out, of *n_total in all. */
void iso__order_range(const iso__order *order, int64_t batch, int64_t *begin, int64_t *end, int64_t *n_total);
/* The samples at those places. */
void iso__order_samples(iso__order *order, uint32_t epoch, int64_t begin, int64_t end, uint32_t *samples);

/* The side of a batch's images where several sizes are given; 0: there is one size. */
int iso__loader_side(const iso_loader *loader, uint32_t epoch, int64_t batch);

#endif
