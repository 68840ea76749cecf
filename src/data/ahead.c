/* ahead.c: batches on their way to a device: workers fill pinned memory, which stays the cell's from batch to batch; a
 * batch that is ready is copied beside the device's other work, and who takes it lets that work follow the copy, so
 * neither the host nor a step waits for it. */
#include "data/feed.h"

static bool keep(iso_context *ctx, const iso__device *device, iso_status status) {
  if (status != ISO_OK) ISO__FAIL(ctx, status, "loader", "%s: a batch could not be copied there", device->name);
  return status == ISO_OK;
}

void iso__ahead_wait(const iso__device *device, iso__cell *cell) {
  if (cell->sent) (void)device->event_wait(device, &cell->end); /* a device that failed is told by its next call */
  cell->sent = false;
}

/* Parts begin where they are aligned. */
static size_t aligned(size_t n_bytes) { return (n_bytes + ISO__ALIGNMENT - 1) / ISO__ALIGNMENT * ISO__ALIGNMENT; }

bool iso__ahead_prepare(iso_context *ctx, const iso__device *device, iso__cell *cell) {
  size_t n_bytes = 0;
  for (int i = 0; i < cell->n_parts; i++) n_bytes += aligned(cell->part_bytes[i]);
  iso__ahead_wait(device, cell);
  if (!cell->has_end && !(cell->has_end = keep(ctx, device, device->event_init(device, &cell->end)))) return false;
  if (!cell->pinned || cell->pinned_bytes < n_bytes) {
    iso_status status = ISO_OUT_OF_MEMORY;
    if (cell->pinned) device->free(device, ctx->heap, cell->pinned, cell->pinned_bytes);
    cell->pinned = device->alloc_pinned(device, n_bytes, &status);
    cell->pinned_bytes = cell->pinned ? n_bytes : 0;
    if (!cell->pinned) return iso__fail_memory(ctx, status, n_bytes), false;
  }
  char *at = cell->pinned;
  for (int i = 0; i < cell->n_parts; i++) cell->made[i] = at, at += aligned(cell->part_bytes[i]);
  return true;
}

bool iso__ahead_send(iso_context *ctx, const iso__device *device, iso__cell *cell) {
  iso__storage *there[ISO__MAX_PARTS] = {NULL};
  bool ok = true;
  for (int i = 0; ok && i < cell->n_parts; i++)
    ok = (there[i] = iso__storage_new_on(ctx, device, cell->part_bytes[i])) != NULL;
  cell->sent = ok;
  for (int i = 0; ok && i < cell->n_parts; i++)
    ok = keep(ctx, device, device->copy_beside(device, there[i]->data, cell->made[i], cell->part_bytes[i], &cell->end));
  if (!ok) iso__ahead_wait(device, cell);
  for (int i = 0; i < cell->n_parts; i++) {
    if (ok) cell->parts[i] = there[i];
    else iso__storage_release(there[i]);
  }
  return ok;
}

void iso__ahead_release(iso_context *ctx, const iso__device *device, iso__cell *cell) {
  iso__ahead_wait(device, cell);
  if (cell->has_end) device->event_release(device, &cell->end);
  if (cell->pinned) device->free(device, ctx->heap, cell->pinned, cell->pinned_bytes);
}
