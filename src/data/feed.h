/* feed.h: what every loader does, whatever its batches hold: places (epoch, batch) in a row, a ring of batches that
 * workers make ahead (ring.c), and batches on their way to a device (ahead.c). A loader says which samples a batch has
 * and fills its memory; the rest is here. */
#ifndef ISO_DATA_FEED_H
#define ISO_DATA_FEED_H
#include <pthread.h>
#include "device/device.h"
#include "io/image.h"
#include "tensor/tensor.h"

enum { ISO__MAX_PARTS = 3 }; /* tensors of a batch */

typedef struct iso__cell {
  uint32_t epoch;
  int64_t batch, n_samples, n_total;
  uint32_t *samples; /* (n_samples), room for a whole batch */
  int extent[2];     /* of each sample: height and width, or length */
  int n_parts;
  size_t part_bytes[ISO__MAX_PARTS];
  iso__storage *parts[ISO__MAX_PARTS]; /* for a device: its memory, once they are on their way there */
  void *made[ISO__MAX_PARTS];          /* where they are made: their own memory, or for a device in `pinned` */
  iso__image_fault fault;              /* ISO_OK, or why it could not be made; `faulty` is the sample */
  uint32_t faulty;
  bool ready; /* guarded by the ring's mutex */
  /* For a device (ahead.c): memory that it copies from, and where its copy ends; `sent`: one may be under way. */
  void *pinned;
  size_t pinned_bytes;
  iso__event end;
  bool has_end, sent;
} iso__cell;

/* ---- the ring: batches in the making, first in first out ---- */

/* Fills cell->made on any thread, or cell->fault. */
typedef void iso__make_fn(const void *loader, iso__cell *cell);

/* Cells [head, tail) are in the making or ready; `next` is the first that no worker has taken. Cell i lies at i mod n.
 */
typedef struct iso__ring {
  iso__make_fn *make;
  const void *loader;
  iso__cell *cells;
  int n_cells, n_workers, n_busy;
  uint64_t head, tail, next;
  bool stop;
  pthread_mutex_t mutex;
  pthread_cond_t work, done;
  pthread_t *workers;
} iso__ring;

/* Starts the workers; make, loader and cells are in place. False, with nothing running: *error is the errno. */
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

/* ---- ahead: batches on their way to a device ---- */

/* Pinned memory for the cell's parts, once its last copy has ended; false: the context's error is set. */
bool iso__ahead_prepare(iso_context *ctx, const iso__device *device, iso__cell *cell);
/* Asks for memory on the device and sends a batch that is ready there; false: the context's error is set. */
bool iso__ahead_send(iso_context *ctx, const iso__device *device, iso__cell *cell);
/* Waits for a copy that may be under way. */
void iso__ahead_wait(const iso__device *device, iso__cell *cell);
void iso__ahead_release(iso_context *ctx, const iso__device *device, iso__cell *cell);

/* ---- the feed ---- */

typedef struct iso__place {
  uint32_t epoch;
  int64_t batch;
} iso__place;

/* The consumer's thread alone touches the context: it asks for the memory of batches to come, and takes those that are
 * ready; workers only fill memory. */
typedef struct iso__feed {
  /* filled in by the loader before iso__feed_start */
  iso_context *ctx;
  const iso__device *device; /* where batches lie when they are given; NULL: the CPU, where they are made */
  void *loader;
  /* On the consumer's thread, for cell->epoch and cell->batch: n_samples, n_total, samples, extent, n_parts and
   * part_bytes. Called again for the same batch where memory was missing. */
  void (*plan)(void *loader, iso__cell *cell);
  iso__make_fn *make;
  int64_t n_batches, batch_size; /* of an epoch; room for samples */
  uint32_t n_epochs;             /* 0: no end */
  int n_workers, n_cells;
  /* its own */
  iso__ring ring;
  bool started;
  iso__place next;  /* what comes next */
  iso__place ahead; /* what is to be pushed next */
} iso__feed;

/* What loaders' options have in common. False where one is wrong: the context's error is set. */
typedef struct iso__feed_options {
  int64_t n_samples, batch_size;
  int n_workers, n_prefetch, n_leaves, leaf_begin, leaf_end;
  bool drop_last;
} iso__feed_options;
bool iso__feed_check(iso_context *ctx, const iso__feed_options *o);
static inline int iso__feed_cells(int n_workers, int n_prefetch) {
  return n_workers == 0 ? 1 : n_prefetch > 0 ? n_prefetch : 2 * n_workers;
}

/* False: the context's error is set; iso__feed_end in any case. */
bool iso__feed_start(iso__feed *feed);
void iso__feed_end(iso__feed *feed);
/* The next batch, ready and on its way to the device; NULL at the end or on an error. Then, once its parts are wrapped
 * in tensors, iso__feed_taken: without it the same batch comes again. */
iso__cell *iso__feed_next(iso__feed *feed);
void iso__feed_taken(iso__feed *feed);
iso_status iso__feed_seek(iso__feed *feed, uint32_t epoch, int64_t batch);

/* Which of a batch of n_total samples are those of leaves [leaf_begin, leaf_end); n_leaves 0: all. */
void iso__feed_leaves(int64_t n_total, int n_leaves, int leaf_begin, int leaf_end, int64_t *begin, int64_t *end);

#endif
