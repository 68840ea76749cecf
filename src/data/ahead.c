/* ahead.c: batches on their way to a device: workers fill pinned memory, which stays the cell's from batch to batch; a
 * batch that is ready is copied beside the device's other work, and who takes it lets that work follow the copy, so
 * neither the host nor a step waits for it. */
#include "data/loader.h"

static bool keep(iso_context *ctx, const iso__device *device, iso_status status) {
  if (status != ISO_OK) ISO__FAIL(ctx, status, "loader", "%s: a batch could not be copied there", device->name);
  return status == ISO_OK;
}

void iso__ahead_wait(const iso__device *device, iso__cell *cell) {
  if (cell->sent) (void)device->event_wait(device, &cell->end); /* a device that failed is told by its next call */
  cell->sent = false;
}

/* Labels begin where they are aligned. */
static size_t before_labels(size_t x_bytes) { return (x_bytes + ISO__ALIGNMENT - 1) / ISO__ALIGNMENT * ISO__ALIGNMENT; }

bool iso__ahead_prepare(iso_context *ctx, const iso__device *device, iso__cell *cell, size_t x_bytes, size_t y_bytes) {
  const size_t n_bytes = before_labels(x_bytes) + y_bytes;
  iso__ahead_wait(device, cell);
  if (!cell->has_end && !(cell->has_end = keep(ctx, device, device->event_init(device, &cell->end)))) return false;
  if (!cell->pinned || cell->pinned_bytes < n_bytes) {
    iso_status status = ISO_OUT_OF_MEMORY;
    if (cell->pinned) device->free(device, ctx->heap, cell->pinned, cell->pinned_bytes);
    cell->pinned = device->alloc_pinned(device, n_bytes, &status);
    cell->pinned_bytes = cell->pinned ? n_bytes : 0;
    if (!cell->pinned) return iso__fail_memory(ctx, status, n_bytes), false;
  }
  cell->pixels = cell->pinned;
  cell->labels = (int64_t *)(void *)((char *)cell->pinned + before_labels(x_bytes));
  return true;
}

bool iso__ahead_send(iso_context *ctx, const iso__device *device, iso__cell *cell, size_t x_bytes, size_t y_bytes) {
  iso__storage *x = iso__storage_new_on(ctx, device, x_bytes),
               *y = x ? iso__storage_new_on(ctx, device, y_bytes) : NULL;
  bool ok = y != NULL;
  if (ok) {
    cell->sent = true;
    ok = keep(ctx, device, device->copy_beside(device, x->data, cell->pixels, x_bytes, &cell->end)) &&
         keep(ctx, device, device->copy_beside(device, y->data, cell->labels, y_bytes, &cell->end));
  }
  if (!ok) {
    iso__ahead_wait(device, cell);
    iso__storage_release(x), iso__storage_release(y);
    return false;
  }
  cell->x = x, cell->y = y;
  return true;
}

void iso__ahead_release(iso_context *ctx, const iso__device *device, iso__cell *cell) {
  iso__ahead_wait(device, cell);
  if (cell->has_end) device->event_release(device, &cell->end);
  if (cell->pinned) device->free(device, ctx->heap, cell->pinned, cell->pinned_bytes);
}
