/* storage.c: counted bytes: on the CPU in one block, the struct, then the data; elsewhere, and where a
 * device's capture writes, the struct in the heap and the data in the device's memory, or memory that it pinned. The
 * heap lives as long as any block of it does, so a storage may outlive its context. */
#include <string.h>
#include "device/memory.h"
#include "tensor/tensor.h"

enum { HEADER_BYTES = ISO__ALIGNMENT }; /* data behind it is aligned like the block */
_Static_assert(sizeof(iso__storage) <= HEADER_BYTES, "the struct must fit before its data");

static bool is_one_block(const iso__storage *s) { return s->device == &iso__device_cpu && !s->deleter; }

iso__storage *iso__storage_new_on(iso_context *ctx, const iso__device *device, size_t n_bytes) {
  iso_status status = ISO_OUT_OF_MEMORY;
  const size_t behind = device == &iso__device_cpu ? n_bytes : 0;
  iso__storage *s =
      behind <= SIZE_MAX - HEADER_BYTES ? iso__heap_alloc(ctx->heap, HEADER_BYTES + behind, &status) : NULL;
  void *data = (char *)s + HEADER_BYTES;
  if (s && device != &iso__device_cpu && !(data = device->alloc(device, ctx->heap, n_bytes, &status))) {
    iso__heap_free(ctx->heap, s, HEADER_BYTES);
    s = NULL;
  }
  if (!s) {
    iso__device_fail_memory(ctx, device, status, n_bytes);
    return NULL;
  }
  *s = (iso__storage){.data = data, .n_bytes = n_bytes, .heap = ctx->heap, .device = device};
  atomic_init(&s->n_refs, 1);
  atomic_init(&s->version, 0);
  return s;
}

/* ---- pinned memory: told by its deleter, which the release of the data stands in for ---- */

static void unpin(void *user) { (void)user; }
static const iso__device *pinned_by(const iso__storage *s) { return s->deleter == unpin ? s->user : NULL; }

iso_status iso__storage_settle(iso_context *ctx, const char *op, const iso__storage *s) {
  const iso__device *device = pinned_by(s);
  return device ? iso__device_waited(ctx, device, op, device->synchronize(device)) : ISO_OK;
}

iso__storage *iso__storage_new_pinned(iso_context *ctx, const iso__device *by, size_t n_bytes) {
  iso_status status = ISO_OUT_OF_MEMORY;
  iso__storage *s = iso__heap_alloc(ctx->heap, sizeof *s, &status);
  void *data = s ? by->alloc_pinned(by, n_bytes, &status) : NULL;
  if (!data) {
    if (s) iso__heap_free(ctx->heap, s, sizeof *s);
    iso__fail_memory(ctx, status, n_bytes);
    return NULL;
  }
  *s =
      (iso__storage){.data = data, .n_bytes = n_bytes, .heap = ctx->heap, .device = &iso__device_cpu, .deleter = unpin};
  memcpy(&s->user, &by, sizeof by);
  atomic_init(&s->n_refs, 1);
  atomic_init(&s->version, 0);
  return s;
}

iso__storage *iso__storage_new(iso_context *ctx, size_t n_bytes) {
  return iso__storage_new_on(ctx, iso__device_of(ctx), n_bytes);
}

void iso__storage_release(iso__storage *s) {
  if (!s) return;
  /* The only reference needs no locked instruction: nobody else can take another. */
  if (!iso__storage_is_exclusive(s) && atomic_fetch_sub_explicit(&s->n_refs, 1, memory_order_acq_rel) != 1) return;
  if (s->attached) s->attached->destroy(s->attached);
  if (s->deleter) s->deleter(s->user);
  if (is_one_block(s)) {
    iso__heap_free(s->heap, s, HEADER_BYTES + s->n_bytes);
    return;
  }
  if (pinned_by(s)) pinned_by(s)->free(pinned_by(s), s->heap, s->data, s->n_bytes);
  if (s->device != &iso__device_cpu) s->device->free(s->device, s->heap, s->data, s->n_bytes);
  iso__heap_free(s->heap, s, s->deleter ? sizeof *s : HEADER_BYTES);
}

void iso__storage_set_owner(iso__storage *s, iso__owner owner) {
  if (is_one_block(s)) iso__heap_set_owner(s->heap, s, HEADER_BYTES + s->n_bytes, owner);
  else iso__device_set_owner(s->device, s->data, owner);
}
