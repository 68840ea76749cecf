/* storage.c: counted bytes. The struct comes from the heap that it names, so a storage may outlive its context. */
#include "tensor/tensor.h"

iso__storage *iso__storage_new(iso_context *ctx, size_t n_bytes) {
  iso__storage *s = iso__alloc(ctx, sizeof *s);
  if (!s) return NULL;
  const iso__device *device = &iso__device_cpu;
  iso_status status;
  void *data = device->alloc(ctx->heap, n_bytes, &status);
  if (!data) {
    iso__free(ctx, s, sizeof *s);
    iso__fail_memory(ctx, status, n_bytes);
    return NULL;
  }
  *s = (iso__storage){.data = data, .n_bytes = n_bytes, .heap = ctx->heap, .device = device};
  atomic_init(&s->n_refs, 1);
  atomic_init(&s->version, 0);
  iso__heap_retain(s->heap);
  return s;
}

void iso__storage_release(iso__storage *s) {
  if (!s || atomic_fetch_sub_explicit(&s->n_refs, 1, memory_order_acq_rel) != 1) return;
  if (!s->borrowed) s->device->free(s->heap, s->data, s->n_bytes);
  if (s->deleter) s->deleter(s->user);
  iso__heap *heap = s->heap;
  iso__heap_free(heap, s, sizeof *s);
  iso__heap_release(heap);
}
