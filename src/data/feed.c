/* feed.c: batches by position, asked for ahead, given in order (feed.h). */
#include "data/feed.h"
#include "io/source.h"

static const char op[] = "loader";

bool iso__feed_check(iso_context *ctx, const iso__feed_options *o) {
  const struct {
    bool wrong;
    const char *name;
    long long value;
    const char *expected;
  } checks[] = {
      {o->batch_size < 0, "batch_size", o->batch_size, "at least 1"},
      {o->drop_last && o->batch_size > o->n_samples, "batch_size", o->batch_size,
       "at most the number of samples, with drop_last"},
      {o->n_workers < 0 || o->n_workers > 256, "n_workers", o->n_workers, "0 to 256"},
      {o->n_prefetch < 0 || o->n_prefetch > 4096, "n_prefetch", o->n_prefetch, "0 to 4096"},
      {o->n_leaves < 0, "n_leaves", o->n_leaves, "at least 0"},
      {o->n_leaves > 0 && (o->leaf_begin < 0 || o->leaf_begin >= o->leaf_end), "leaf_begin", o->leaf_begin,
       "0 to leaf_end - 1"},
      {o->n_leaves > 0 && o->leaf_end > o->n_leaves, "leaf_end", o->leaf_end, "at most n_leaves"},
  };
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    if (checks[i].wrong)
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%s is %lld, expected %s", checks[i].name, checks[i].value,
                       checks[i].expected),
             false;
  return true;
}

void iso__feed_leaves(int64_t n_total, int n_leaves, int leaf_begin, int leaf_end, int64_t *begin, int64_t *end) {
  int64_t unused;
  *begin = 0, *end = n_total;
  if (n_leaves == 0) return;
  iso_leaf_range(n_total, n_leaves, leaf_begin, begin, &unused);
  iso_leaf_range(n_total, n_leaves, leaf_end - 1, &unused, end);
}

/* ---- memory ---- */

static size_t cells_bytes(const iso__feed *f) { return (size_t)f->n_cells * sizeof(iso__cell); }
static size_t samples_bytes(const iso__feed *f) { return (size_t)f->batch_size * sizeof(uint32_t); }
static size_t workers_bytes(const iso__feed *f) { return (size_t)f->n_workers * sizeof(pthread_t); }

/* Memory of a device may still be written by the copy that was sent. */
static void empty_cell(const iso__feed *f, iso__cell *cell) {
  if (f->device) iso__ahead_wait(f->device, cell);
  for (int i = 0; i < ISO__MAX_PARTS; i++) iso__storage_release(cell->parts[i]), cell->parts[i] = NULL;
}

void iso__feed_end(iso__feed *f) {
  iso__ring *ring = &f->ring;
  if (!f->ctx) return; /* never started */
  if (f->started) iso__ring_stop(ring);
  for (int i = 0; ring->cells && i < f->n_cells; i++) {
    empty_cell(f, &ring->cells[i]);
    if (f->device) iso__ahead_release(f->ctx, f->device, &ring->cells[i]);
    iso__free(f->ctx, ring->cells[i].samples, samples_bytes(f));
  }
  iso__free(f->ctx, ring->cells, cells_bytes(f));
  iso__free(f->ctx, ring->workers, workers_bytes(f));
}

bool iso__feed_start(iso__feed *f) {
  iso_context *ctx = f->ctx;
  iso__ring *ring = &f->ring;
  int error;
  char text[128];
  ring->make = f->make, ring->loader = f->loader, ring->n_cells = f->n_cells;
  ring->workers = iso__alloc(ctx, workers_bytes(f));
  ring->cells = iso__zalloc(ctx, cells_bytes(f));
  if (!ring->workers || !ring->cells) return false;
  for (int i = 0; i < f->n_cells; i++)
    if (!(ring->cells[i].samples = iso__alloc(ctx, samples_bytes(f)))) return false;
  f->started = iso__ring_start(ring, f->n_workers, &error);
  if (!f->started)
    ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, op, "cannot start %d worker threads: %s", f->n_workers,
              iso__errno_text(error, text, sizeof text));
  return f->started;
}

/* ---- batches ---- */

static bool is_end(const iso__feed *f, const iso__place *p) { return f->n_epochs > 0 && p->epoch >= f->n_epochs; }

static void advance(const iso__feed *f, iso__place *p) {
  if (++p->batch < f->n_batches) return;
  p->batch = 0;
  p->epoch++;
}

/* Memory to make a batch in. */
static bool ask_memory(const iso__feed *f, iso__cell *cell) {
  if (f->device) return iso__ahead_prepare(f->ctx, f->device, cell);
  for (int i = 0; i < cell->n_parts; i++) {
    const iso__owner before = iso__owner_enter(ISO__OWNER_DATA);
    cell->parts[i] = iso__storage_new_on(f->ctx, &iso__device_cpu, cell->part_bytes[i]);
    iso__owner_leave(before);
    if (!cell->parts[i]) return empty_cell(f, cell), false;
    cell->made[i] = cell->parts[i]->data;
  }
  return true;
}

/* Asks for the memory of the batch at `ahead` and hands it on. */
static bool push_one(iso__feed *f) {
  iso__cell *cell = iso__ring_cell(&f->ring, f->ring.tail);
  cell->epoch = f->ahead.epoch, cell->batch = f->ahead.batch;
  cell->fault.code = ISO_OK;
  f->plan(f->loader, cell);
  if (!ask_memory(f, cell)) return false;
  iso__ring_push(&f->ring);
  advance(f, &f->ahead);
  return true;
}

/* Whether the device has memory for a batch, which takes it in the same blocks. */
static bool has_room(const iso__feed *f, const iso__cell *cell) {
  iso_status status;
  void *blocks[ISO__MAX_PARTS] = {NULL};
  bool has = true;
  for (int i = 0; has && i < cell->n_parts; i++)
    has = (blocks[i] = f->device->alloc(f->device, f->ctx->heap, cell->part_bytes[i], &status)) != NULL;
  for (int i = cell->n_parts - 1; i >= 0; i--)
    if (blocks[i]) f->device->free(f->device, f->ctx->heap, blocks[i], cell->part_bytes[i]);
  return has;
}

/* Sends the batch that is to be given, and the one after it, if it is ready and there is room, so that it arrives
 * beside the step. */
static bool send_ahead(iso__feed *f) {
  iso__ring *ring = &f->ring;
  for (uint64_t i = ring->head; i < ring->tail && i < ring->head + 2; i++) {
    iso__cell *cell = iso__ring_cell(ring, i);
    if (!iso__ring_is_ready(ring, cell) || cell->fault.code != ISO_OK) break;
    if (i > ring->head && !cell->parts[0] && !has_room(f, cell)) break; /* it has a step of its own to come in */
    if (!cell->parts[0] && !iso__ahead_send(f->ctx, f->device, cell)) return false;
  }
  const iso__event *end = &iso__ring_cell(ring, ring->head)->end;
  const iso_status status = f->device->event_follow(f->device, end);
  if (status) ISO__FAIL(f->ctx, status, op, "%s: a batch did not arrive", f->device->name);
  return status == ISO_OK;
}

iso__cell *iso__feed_next(iso__feed *f) {
  iso__ring *ring = &f->ring;
  if (iso__failed(f->ctx)) return NULL;
  while (ring->tail - ring->head < (uint64_t)ring->n_cells && !is_end(f, &f->ahead))
    if (!push_one(f)) return NULL;
  if (ring->head == ring->tail) return NULL;
  iso__ring_wait(ring);
  iso__cell *cell = iso__ring_cell(ring, ring->head);
  /* what could not be made is its loader's to tell */
  return cell->fault.code != ISO_OK || !f->device || send_ahead(f) ? cell : NULL;
}

/* A copy under way is followed by all work on its storage. */
void iso__feed_taken(iso__feed *f) {
  iso__cell *cell = iso__ring_cell(&f->ring, f->ring.head);
  for (int i = 0; i < cell->n_parts; i++) iso__storage_release(cell->parts[i]), cell->parts[i] = NULL;
  f->ring.head++;
  advance(f, &f->next);
}

iso_status iso__feed_seek(iso__feed *f, uint32_t epoch, int64_t batch) {
  if (iso__failed(f->ctx)) return iso_error_code(f->ctx);
  if (batch < 0 || batch >= f->n_batches)
    return ISO__FAIL(f->ctx, ISO_INVALID_ARGUMENT, op, "batch %lld is sought, an epoch has 0 to %lld", (long long)batch,
                     (long long)f->n_batches - 1);
  iso__ring *ring = &f->ring;
  iso__ring_settle(ring);
  while (ring->head != ring->tail) empty_cell(f, iso__ring_cell(ring, ring->head++));
  f->next = f->ahead = (iso__place){.epoch = epoch, .batch = batch};
  return ISO_OK;
}
