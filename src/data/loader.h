/* loader.h: the loader's inside: which samples a batch holds (order.c), the ring of batches and its threads (ring.c).
 */
#ifndef ISO_DATA_LOADER_H
#define ISO_DATA_LOADER_H
#include <pthread.h>
#include "data/transform.h"
#include "device/device.h"

/* ---- order: what a batch consists of ---- */

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

/* ---- the ring: batches in the making, first in first out ---- */

typedef struct iso__cell {
  uint32_t epoch;
  int64_t batch, n_samples, n_total;
  uint32_t *samples;   /* (n_samples), room for a whole batch */
  int height, width;   /* of x */
  iso__storage *x, *y; /* (n,H,W,C) f32, (n) i64; for a device: its memory, once they are on their way there */
  float *pixels;       /* where x and y are made: their own memory, or for a device `pinned` */
  int64_t *labels;
  iso__image_fault fault; /* ISO_OK, or why x could not be made; `faulty` is the sample */
  uint32_t faulty;
  bool ready; /* guarded by the ring's mutex */
  /* For a device (ahead.c): memory that it copies from, and where its copy ends; `sent`: one may be under way. */
  void *pinned;
  size_t pinned_bytes;
  iso__event end;
  bool has_end, sent;
} iso__cell;

/* Cells [head, tail) are in the making or ready; `next` is the first that no worker has taken. Cell i lies at i mod n.
 */
typedef struct iso__ring {
  const iso_dataset *set;
  const iso__rendering *rendering;
  iso__cell *cells;
  int n_cells, n_workers, n_busy;
  uint64_t head, tail, next;
  bool stop;
  pthread_mutex_t mutex;
  pthread_cond_t work, done;
  pthread_t *workers;
} iso__ring;

/* Starts the workers; rendering, set and cells are in place. False, with nothing running: *error is the errno. */
bool iso__ring_start(iso__ring *ring, int n_workers, int *error);
void iso__ring_stop(iso__ring *ring);
static inline iso__cell *iso__ring_cell(iso__ring *ring, uint64_t i) {
  return &ring->cells[i % (uint64_t)ring->n_cells];
}
/* Cell `tail` is filled in: hands it to the workers, or makes it here where there are none. */
void iso__ring_push(iso__ring *ring);
/* Waits until cell `head` is ready. */
void iso__ring_wait(iso__ring *ring);
bool iso__ring_is_ready(iso__ring *ring, const iso__cell *cell);
/* Gives up what no worker has taken and waits for what they have. Then nobody touches a cell. */
void iso__ring_settle(iso__ring *ring);

/* ---- ahead: batches on their way to a device (ahead.c) ---- */

/* Pinned memory for a batch of so many bytes of x and y, once the cell's last copy has ended; false: the context's
 * error is set. */
bool iso__ahead_prepare(iso_context *ctx, const iso__device *device, iso__cell *cell, size_t x_bytes, size_t y_bytes);
/* Asks for memory on the device and sends a batch that is ready there; false: the context's error is set. */
bool iso__ahead_send(iso_context *ctx, const iso__device *device, iso__cell *cell, size_t x_bytes, size_t y_bytes);
/* Waits for a copy that may be under way. */
void iso__ahead_wait(const iso__device *device, iso__cell *cell);
void iso__ahead_release(iso_context *ctx, const iso__device *device, iso__cell *cell);

#endif
