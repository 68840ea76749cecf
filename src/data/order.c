/* order.c: which samples make a batch: the epoch's permutation is the stable sort of one Philox draw a sample, so it is
 * a function of (seed, epoch) and needs no state of its own. */
#include "data/loader.h"
#include <isobit/numeric.h>

void iso__order_range(const iso__order *order, int64_t batch, int64_t *begin, int64_t *end, int64_t *n_total) {
  const int64_t first = batch * order->batch_size, n_left = order->n_samples - first;
  *n_total = n_left < order->batch_size ? n_left : order->batch_size;
  iso__feed_leaves(*n_total, order->n_leaves, order->leaf_begin, order->leaf_end, begin, end);
  *begin += first, *end += first;
}

void iso__order_samples(iso__order *order, uint32_t epoch, int64_t begin, int64_t end, uint32_t *samples) {
  if (order->shuffle && !(order->known && order->epoch == epoch)) {
    const iso_philox at = {
        .seed = order->seed, .stream = ISO_PHILOX_LOADER, .site = ISO__PURPOSE_ORDER, .leaf = epoch, .step = 0};
    iso_philox_permutation(&at, (uint64_t)order->n_samples, order->permutation, order->scratch);
    order->known = true, order->epoch = epoch;
  }
  for (int64_t i = begin; i < end; i++) samples[i - begin] = (uint32_t)(order->shuffle ? order->permutation[i] : i);
}
