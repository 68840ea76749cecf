/* storage.c: counted bytes, in one block: the struct, then the data. The heap lives as long as any block of it does, so
 * a storage may outlive its context. */
#include "tensor/tensor.h"

enum { HEADER_BYTES = ISO__ALIGNMENT }; /* data behind it is aligned like the block */
_Static_assert(sizeof(iso__storage) <= HEADER_BYTES, "the struct must fit before its data");

iso__storage *iso__storage_new(iso_context *ctx, size_t n_bytes) {
  const iso__device *device = &iso__device_cpu; /* its memory can hold the struct, too */
  iso_status status = ISO_OUT_OF_MEMORY;
  iso__storage *s =
      n_bytes <= SIZE_MAX - HEADER_BYTES ? device->alloc(ctx->heap, HEADER_BYTES + n_bytes, &status) : NULL;
  if (!s) {
    iso__fail_memory(ctx, status, n_bytes);
    return NULL;
  }
  *s = (iso__storage){.data = (char *)s + HEADER_BYTES, .n_bytes = n_bytes, .heap = ctx->heap, .device = device};
  atomic_init(&s->n_refs, 1);
  atomic_init(&s->version, 0);
  return s;
}

void iso__storage_release(iso__storage *s) {
  if (!s) return;
  /* The only reference needs no locked instruction: nobody else can take another. */
  if (!iso__storage_is_exclusive(s) && atomic_fetch_sub_explicit(&s->n_refs, 1, memory_order_acq_rel) != 1) return;
  if (s->attached) s->attached->destroy(s->attached);
  if (s->deleter) s->deleter(s->user);
  if (s->deleter) iso__heap_free(s->heap, s, sizeof *s);
  else s->device->free(s->heap, s, HEADER_BYTES + s->n_bytes);
}
